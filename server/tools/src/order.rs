//! The executor's place in time: orders for observations.
//!
//! A read's order is taken when it begins, a mutation's when it was published. So a read that is slow carries an
//! order below that of a mutation it overlapped, and the gate, which keeps the highest, is not misled by it.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use toolfs_core::clock::{Clock, Order};

/// A hybrid logical clock: wall-clock time where it moves on, a count where it does not.
#[derive(Debug)]
pub(crate) struct OrderSource {
    clock: Arc<dyn Clock>,
    last: AtomicI64,
}

impl OrderSource {
    pub(crate) fn new(clock: Arc<dyn Clock>) -> OrderSource {
        OrderSource { clock, last: AtomicI64::new(Order::ZERO.0) }
    }

    /// An order above every one that was taken before.
    pub(crate) fn take(&self) -> Order {
        let now = self.clock.now();
        let advance = |last| Order(last).next(now).0;
        let before = self
            .last
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |last| Some(advance(last)))
            .expect("the update always yields an order");
        Order(advance(before))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use toolfs_core::clock::Timestamp;

    use super::*;

    #[derive(Debug)]
    struct Jumpy(Mutex<Vec<i64>>);

    impl Clock for Jumpy {
        fn now(&self) -> Timestamp {
            Timestamp(self.0.lock().unwrap().pop().unwrap_or(3))
        }
    }

    #[test]
    fn orders_rise_when_the_clock_stands_or_steps_back() {
        let source = OrderSource::new(Arc::new(Jumpy(Mutex::new(vec![2, 9, 9, 5, 5]))));
        let orders: Vec<i64> = (0..6).map(|_| source.take().0).collect();
        let expected = [5 << 16, (5 << 16) + 1, 9 << 16, (9 << 16) + 1, (9 << 16) + 2, (9 << 16) + 3];
        assert_eq!(orders, expected);
    }

    #[test]
    fn no_two_threads_get_one_order() {
        let source = OrderSource::new(Arc::new(Jumpy(Mutex::new(Vec::new()))));
        let mut orders: Vec<i64> = std::thread::scope(|scope| {
            let takers: Vec<_> = (0..4)
                .map(|_| scope.spawn(|| (0..500).map(|_| source.take().0).collect::<Vec<_>>()))
                .collect();
            takers.into_iter().flat_map(|taker| taker.join().unwrap()).collect()
        });
        orders.sort_unstable();
        orders.dedup();
        assert_eq!(orders.len(), 2_000);
    }
}
