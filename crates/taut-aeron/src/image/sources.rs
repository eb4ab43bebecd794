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

    /// Another source that has proved itself.
    pub fn add(&mut self, address: SocketAddr, now: Nanos) {
        if self.find(address).is_some() {
            return;
        }
        if let Some(free) = self.others.iter_mut().find(|other| other.is_none()) {
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
