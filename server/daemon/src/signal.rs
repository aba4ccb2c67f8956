//! The signals that end a server.

use std::io;

use tokio::signal::unix::{SignalKind, signal};

/// Resolves at the first SIGTERM or SIGINT. A second one ends the process at once: whoever sends it does not want to
/// wait for calls in flight.
///
/// # Errors
/// When the handlers cannot be installed; then nothing would drain.
pub(crate) fn shutdown() -> io::Result<impl Future<Output = ()> + Send + 'static> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().build();
            if let Ok(runtime) = runtime {
                runtime.block_on(async {
                    tokio::select! {
                        _ = terminate.recv() => {}
                        _ = interrupt.recv() => {}
                    }
                });
                std::process::exit(i32::from(crate::exit::DRAIN_LIMIT));
            }
        });
    })
}
