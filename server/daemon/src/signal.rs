//! What ends a server: signals, and the end of its standard input; and the signal that must not.

use std::future::Future;
use std::io::{self, Read};

use tokio::signal::unix::{Signal, SignalKind, signal};

/// Resolves at the first SIGTERM or SIGINT, or when `or_else` does. A further signal ends the process at once: whoever
/// sends it does not want to wait for calls in flight.
///
/// # Errors
/// When the handlers cannot be installed; then nothing would drain.
pub(crate) fn shutdown(
    or_else: impl Future<Output = ()> + Send + 'static,
) -> io::Result<impl Future<Output = ()> + Send + 'static> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    Ok(async move {
        tokio::select! {
            () = either(&mut terminate, &mut interrupt) => {}
            () = or_else => {}
        }
        std::thread::spawn(move || exit_at_the_next(terminate, interrupt));
    })
}

/// Resolves when standard input ends, whatever comes in before. The other end of a pipe closes when the last process
/// that holds it has ended, also one that was killed and could say no good-bye.
pub(crate) async fn stdin_closed() {
    let (tell, told) = tokio::sync::oneshot::channel();
    // A thread of its own: a read of standard input cannot be given up, and a runtime would wait for it at its end.
    std::thread::spawn(move || {
        read_to_the_end(io::stdin().lock());
        let _ = tell.send(());
    });
    // The thread always tells; without it there is nothing to wait for.
    let _ = told.await;
    tracing::info!("standard input has ended");
}

/// An input that cannot be read has ended, too.
fn read_to_the_end(mut input: impl Read) {
    let mut ignored = [0; 4096];
    loop {
        match input.read(&mut ignored) {
            Ok(0) => return,
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => {
                tracing::warn!(%error, "standard input cannot be read");
                return;
            }
        }
    }
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
