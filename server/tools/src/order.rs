//! The executor's place in time: orders for observations.
//!
//! A read's order is taken when it begins, a mutation's when it was published. So a read that is slow carries an
//! order below that of a mutation it overlapped, and the gate, which keeps the highest, is not misled by it.

use std::sync::Arc;

use toolfs_core::clock::{Clock, Order};

use crate::store::SessionStore;

/// The sequence of the store, which all servers of one state draw from, at the time of this server's clock.
#[derive(Debug)]
pub(crate) struct OrderSource {
    store: Arc<dyn SessionStore>,
    clock: Arc<dyn Clock>,
}

impl OrderSource {
    pub(crate) fn new(store: Arc<dyn SessionStore>, clock: Arc<dyn Clock>) -> OrderSource {
        OrderSource { store, clock }
    }

    /// An order above every one that was taken before.
    pub(crate) fn take(&self) -> Order {
        self.store.next_order(self.clock.now())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use toolfs_core::clock::Timestamp;

    use super::*;
    use crate::store::MemorySessionStore;

    fn source(times: Vec<i64>) -> OrderSource {
        OrderSource::new(Arc::new(MemorySessionStore::new()), Arc::new(Jumpy(Mutex::new(times))))
    }

    #[derive(Debug)]
    struct Jumpy(Mutex<Vec<i64>>);

    impl Clock for Jumpy {
        fn now(&self) -> Timestamp {
            Timestamp(self.0.lock().unwrap().pop().unwrap_or(3))
        }
    }

    #[test]
    fn orders_rise_when_the_clock_stands_or_steps_back() {
        let source = source(vec![2, 9, 9, 5, 5]);
        let orders: Vec<i64> = (0..6).map(|_| source.take().0).collect();
        let expected = [5 << 16, (5 << 16) + 1, 9 << 16, (9 << 16) + 1, (9 << 16) + 2, (9 << 16) + 3];
        assert_eq!(orders, expected);
    }

    #[test]
    fn no_two_threads_get_one_order() {
        let source = source(Vec::new());
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
