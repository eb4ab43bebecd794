//! Where an image's data comes from: one address, or a few (multi-destination subscription).

use core::net::SocketAddr;

use taut_types::Nanos;

/// The most sources of one image.
pub const SOURCES_MAX: usize = 4;

#[derive(Clone, Copy, Debug)]
struct Source {
    address: SocketAddr,
    heard: Nanos,
    has_ended: bool,
}

/// The sources, the first one heard first.
#[derive(Clone, Copy, Debug)]
pub struct Sources {
    first: Source,
    others: [Option<Source>; SOURCES_MAX - 1],
}

impl Sources {
    pub const fn new(address: SocketAddr, now: Nanos) -> Self {
        let first = Source { address, heard: now, has_ended: false };
        Self { first, others: [None; SOURCES_MAX - 1] }
    }

    pub const fn first(&self) -> SocketAddr {
        self.first.address
    }

    /// Data came from an address: false when it is a stranger.
    #[inline]
    pub fn hear(&mut self, address: SocketAddr, now: Nanos) -> bool {
        match self.find(address) {
            Some(source) => {
                source.heard = now;
                true
            }
            None => false,
        }
    }

    /// Another source that has proved itself. Without a free place it takes that of one that fell
    /// silent.
    pub fn add(&mut self, address: SocketAddr, now: Nanos, liveness: Nanos) {
        if self.find(address).is_some() {
            return;
        }
        let is_gone = |source: Source| now.since(source.heard) > liveness;
        let is_free = |other: &Option<Source>| other.is_none_or(is_gone);
        if let Some(free) = self.others.iter_mut().find(|other| is_free(other)) {
            *free = Some(Source { address, heard: now, has_ended: false });
        }
    }

    /// A source says that the stream has ended. True when all that are alive have said so.
    pub fn end(&mut self, address: SocketAddr, now: Nanos, liveness: Nanos) -> bool {
        if let Some(source) = self.find(address) {
            source.has_ended = true;
        }
        self.all().all(|source| source.has_ended || now.since(source.heard) > liveness)
    }

    /// The address of the nth source.
    pub fn get(&self, index: usize) -> Option<SocketAddr> {
        self.all().nth(index).map(|source| source.address)
    }

    pub fn count(&self) -> usize {
        self.all().count()
    }

    fn all(&self) -> impl Iterator<Item = &Source> {
        core::iter::once(&self.first).chain(self.others.iter().flatten())
    }

    #[inline]
    fn find(&mut self, address: SocketAddr) -> Option<&mut Source> {
        if self.first.address == address {
            return Some(&mut self.first);
        }
        self.others.iter_mut().flatten().find(|source| source.address == address)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::net::{IpAddr, Ipv4Addr};

    #[test]
    fn a_source_that_fell_silent_leaves_its_place_to_one_that_comes() {
        let address = |port| SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port);
        let (live, mut sources) = (Nanos(100), Sources::new(address(0), Nanos(0)));
        // A relay that comes back from another port each time.
        for port in 1..100 {
            let now = Nanos(i64::from(port) * 60);
            sources.hear(address(0), now);
            sources.add(address(port), now, live);
            assert!(sources.hear(address(port), now), "the one from port {port}");
            assert!(sources.count() <= SOURCES_MAX);
        }
        // But whoever is heard keeps it.
        let now = Nanos(100_000);
        assert!(sources.hear(address(0), now));
        (2000..2003).for_each(|port| sources.add(address(port), now, live));
        sources.add(address(1000), now, live);
        assert!(!sources.hear(address(1000), now));
    }
}
