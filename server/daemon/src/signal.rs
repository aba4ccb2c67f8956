//! The signals that end a server, and the one that must not.

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

/// Linux's number of the signal that a process gets for writing beyond its file size limit (`setrlimit(2)`).
const FILE_SIZE_EXCEEDED: i32 = 25;

/// Keeps a write beyond the process's file size limit from ending the process: it is an error of that one call then.
///
/// # Errors
/// When the handler cannot be installed.
pub(crate) fn survive_file_size_limit() -> io::Result<()> {
    // The handler stays when its listener is dropped.
    signal(SignalKind::from_raw(FILE_SIZE_EXCEEDED)).map(drop)
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
