//! The venue's names, looked up again while a gateway runs: a venue moves, and a gateway that knew
//! its addresses of last week could not connect again.
//!
//! Looking up blocks, for seconds where there is no network. So it has a thread of its own, that
//! nobody waits for.

use std::net::SocketAddrV4;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use super::connections::{Named, Served, addresses_of};
use crate::error::RunnerError;

/// How often names are looked up.
const INTERVAL: Duration = Duration::from_secs(300);

/// Where a part of the venue is now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moved {
    pub served: Served,
    /// One at least.
    pub addresses: Vec<SocketAddrV4>,
}

/// Looks these names up time and again; what is received is where they are. Without a name there
/// is no thread.
pub fn follow(names: Vec<Named>) -> Result<Receiver<Moved>, RunnerError> {
    let (tell, told) = channel();
    if !names.is_empty() {
        let looking = thread::Builder::new().name("taut-names".to_owned());
        let looked = looking.spawn(move || {
            loop {
                // PACE: a name is looked up so often.
                thread::sleep(INTERVAL);
                if !look(&names, |host| addresses_of("", host).ok(), &tell) {
                    return;
                }
            }
        });
        looked.map_err(|error| RunnerError::run("a thread for names", error))?;
    }
    Ok(told)
}

/// Looks each name up once; whether there is somebody to tell. What is not found is where it was.
fn look(
    names: &[Named],
    addresses_of: impl Fn(&str) -> Option<Vec<SocketAddrV4>>,
    tell: &Sender<Moved>,
) -> bool {
    names.iter().all(|Named { host, served }| match addresses_of(host) {
        Some(addresses) => tell.send(Moved { served: *served, addresses }).is_ok(),
        None => true,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_found_is_told_until_nobody_listens() {
        let name = |host: &str, served| Named { host: host.to_owned(), served };
        let names = [name("a:1", Served::Orders), name("b:1", Served::Stream)];
        let at = SocketAddrV4::new([127, 0, 0, 1].into(), 1);
        let (tell, told) = channel();
        let found = |host: &str| (host == "b:1").then(|| vec![at]);
        assert!(look(&names, found, &tell));
        let moved: Vec<Moved> = told.try_iter().collect();
        assert_eq!(moved, [Moved { served: Served::Stream, addresses: vec![at] }]);
        drop(told);
        assert!(!look(&names, found, &tell));
    }
}
