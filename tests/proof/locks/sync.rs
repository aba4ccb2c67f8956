//! The primitives of the tables, with a switch to another caller possible at each use.
//!
//! What tables take from the standard library, shuttle has under the same names. The two locks that may be waited for
//! without a thread are written here over shuttle's semaphore, as the runtime's are over its own: strictly in turn, and
//! a wait that is given up gives back what it was given.

use std::marker::PhantomData;
use std::mem;
use std::ops::{Deref, DerefMut};
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use shuttle::future::batch_semaphore::{Acquire, BatchSemaphore, Fairness};
use shuttle::rand::Rng as _;
pub(crate) use shuttle::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, atomic};

/// More readers than there are callers.
const READERS: usize = 1_000;

static LOSES_WAKE_UPS: AtomicBool = AtomicBool::new(false);

/// From now on, or not, a wait that is given up keeps what it is given.
pub(crate) fn lose_wake_ups(loses: bool) {
    LOSES_WAKE_UPS.store(loses, Ordering::Relaxed);
}

/// Waits, as long as somebody wants it to.
struct Wait<'a>(Option<Pin<Box<Acquire<'a>>>>);

impl<'a> Wait<'a> {
    fn new(semaphore: &'a BatchSemaphore, permits: usize) -> Wait<'a> {
        Wait(Some(Box::pin(semaphore.acquire(permits))))
    }
}

impl Future for Wait<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let Some(acquire) = &mut self.0 else { return Poll::Ready(()) };
        match acquire.as_mut().poll(context) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(acquired) => {
                acquired.expect("no semaphore here is ever closed");
                self.0 = None;
                Poll::Ready(())
            }
        }
    }
}

impl Drop for Wait<'_> {
    fn drop(&mut self) {
        if LOSES_WAKE_UPS.load(Ordering::Relaxed) {
            mem::forget(self.0.take());
        }
    }
}

/// A lock that may be waited for without a thread.
#[derive(Debug)]
pub(crate) struct AsyncMutex<T> {
    turn: BatchSemaphore,
    /// The value, while nobody holds the lock.
    value: std::sync::Mutex<Option<T>>,
}

impl<T: Default> Default for AsyncMutex<T> {
    fn default() -> AsyncMutex<T> {
        AsyncMutex {
            turn: BatchSemaphore::new(1, Fairness::StrictlyFair),
            value: std::sync::Mutex::new(Some(T::default())),
        }
    }
}

impl<T> AsyncMutex<T> {
    pub(crate) async fn lock_owned(self: Arc<Self>) -> OwnedMutexGuard<T> {
        Wait::new(&self.turn, 1).await;
        let value = self.value.lock().unwrap().take();
        assert!(value.is_some(), "two hold one lock");
        OwnedMutexGuard { mutex: self, value }
    }
}

#[derive(Debug)]
pub(crate) struct OwnedMutexGuard<T> {
    mutex: Arc<AsyncMutex<T>>,
    /// There until the guard is dropped.
    value: Option<T>,
}

impl<T> Deref for OwnedMutexGuard<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.value.as_ref().unwrap()
    }
}

impl<T> DerefMut for OwnedMutexGuard<T> {
    fn deref_mut(&mut self) -> &mut T {
        self.value.as_mut().unwrap()
    }
}

impl<T> Drop for OwnedMutexGuard<T> {
    fn drop(&mut self) {
        *self.mutex.value.lock().unwrap() = self.value.take();
        self.mutex.turn.release(1);
    }
}

/// A lock for many readers or one writer that may be waited for without a thread. What it guards is no value here.
#[derive(Debug)]
pub(crate) struct AsyncRwLock<T> {
    permits: BatchSemaphore,
    _value: PhantomData<T>,
}

impl<T> Default for AsyncRwLock<T> {
    fn default() -> AsyncRwLock<T> {
        AsyncRwLock { permits: BatchSemaphore::new(READERS, Fairness::StrictlyFair), _value: PhantomData }
    }
}

impl<T> AsyncRwLock<T> {
    pub(crate) fn try_read_owned(self: Arc<Self>) -> Result<OwnedRwLockReadGuard<T>, ()> {
        self.permits.try_acquire(1).map_err(|_| ())?;
        Ok(OwnedRwLockReadGuard { lock: self })
    }

    pub(crate) async fn write(&self) -> WriteGuard<'_> {
        Wait::new(&self.permits, READERS).await;
        WriteGuard(&self.permits)
    }
}

#[derive(Debug)]
pub(crate) struct OwnedRwLockReadGuard<T> {
    lock: Arc<AsyncRwLock<T>>,
}

impl<T> Drop for OwnedRwLockReadGuard<T> {
    fn drop(&mut self) {
        self.lock.permits.release(1);
    }
}

#[derive(Debug)]
pub(crate) struct WriteGuard<'a>(&'a BatchSemaphore);

impl Drop for WriteGuard<'_> {
    fn drop(&mut self) {
        self.0.release(READERS);
    }
}

/// Looks at a future a few times, how often is drawn, and drops it if it is not ready then.
pub(crate) async fn perhaps<F: Future>(future: F) -> Option<F::Output> {
    let mut future = pin!(future);
    for _ in 0..shuttle::rand::thread_rng().gen_range(0..6) {
        let looked = std::future::poll_fn(|context| Poll::Ready(future.as_mut().poll(context)));
        if let Poll::Ready(output) = looked.await {
            return Some(output);
        }
        shuttle::future::yield_now().await;
    }
    None
}
