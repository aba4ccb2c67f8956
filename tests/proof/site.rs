//! The servers that cases play on. They live on from one to the next, each of which has a directory of its own.

use std::sync::Mutex;

use toolfs_core::planted::Fault;

use crate::server::{Ground, Manner, Server};

/// One or two servers of one directory and one state.
#[derive(Debug)]
pub(crate) struct Site {
    // The order is the one in which they go.
    pub(crate) servers: Vec<Server>,
    pub(crate) ground: Ground,
    manner: Manner,
}

impl Site {
    fn new(servers: usize, manner: Manner, fault: Option<Fault>) -> Result<Site, String> {
        let ground = Ground::new();
        let names = ["one", "two"].into_iter().take(servers);
        let servers =
            names.map(|name| Server::start(&ground, name, manner, fault)).collect::<Result<_, _>>()?;
        Ok(Site { servers, ground, manner })
    }
}

/// The sites on which nobody plays.
#[derive(Debug)]
pub(crate) struct Pool {
    resting: Mutex<Vec<Site>>,
    fault: Option<Fault>,
}

impl Pool {
    pub(crate) fn new(fault: Option<Fault>) -> Pool {
        Pool { resting: Mutex::default(), fault }
    }

    /// Plays on a site. One on which something was wrong is done with.
    pub(crate) fn with(
        &self,
        servers: usize,
        manner: Manner,
        play: impl FnOnce(&Site) -> Result<(), String>,
    ) -> Result<(), String> {
        let rested = {
            let mut resting = self.resting.lock().unwrap();
            let fits = |site: &Site| site.servers.len() == servers && site.manner == manner;
            resting.iter().position(fits).map(|index| resting.swap_remove(index))
        };
        let site = rested.map_or_else(|| Site::new(servers, manner, self.fault), Ok)?;
        play(&site)?;
        self.resting.lock().unwrap().push(site);
        Ok(())
    }
}
