//! The signals that end a server.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// Resolves at the first SIGTERM or SIGINT. A second one ends the process at once: whoever sends it does not want to
/// wait for calls in flight.
///
/// # Errors
/// When the handlers cannot be installed; then nothing would drain.
pub(crate) fn shutdown() -> io::Result<impl Future<Output = ()> + Send + 'static> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    Ok(async move {
        either(&mut terminate, &mut interrupt).await;
        std::thread::spawn(move || exit_at_the_next(terminate, interrupt));
    })
}

/// Waits on a runtime of its own, which hears signals by itself: the server's may be stuck, or shut down already.
fn exit_at_the_next(mut terminate: Signal, mut interrupt: Signal) {
    match tokio::runtime::Builder::new_current_thread().enable_io().build() {
        Ok(runtime) => runtime.block_on(either(&mut terminate, &mut interrupt)),
        Err(error) => {
            tracing::warn!(%error, "a second signal will not end the server before it has drained");
            return;
        }
    }
    std::process::exit(i32::from(crate::exit::DRAIN_LIMIT));
}

async fn either(terminate: &mut Signal, interrupt: &mut Signal) {
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
}
