//! Which of a subscription's sockets each source is heard by: it is answered from there.

use std::net::SocketAddr;

/// Sources whose socket is remembered.
const ROUTES_MAX: usize = 64;

/// The last socket that heard each source, as its place in the subscription's list. Of a source
/// that is not known it is the first one.
#[derive(Debug)]
pub struct Routes {
    routes: Vec<(SocketAddr, usize)>,
    /// The one that makes room for the next.
    oldest: usize,
}

impl Routes {
    pub fn new() -> Self {
        Self { routes: Vec::with_capacity(ROUTES_MAX), oldest: 0 }
    }

    /// A source was heard by a socket.
    pub fn note(&mut self, source: SocketAddr, socket: usize) {
        if let Some(route) = self.routes.iter_mut().find(|(known, _)| *known == source) {
            route.1 = socket;
        } else if self.routes.len() < ROUTES_MAX {
            self.routes.push((source, socket));
        } else {
            self.routes[self.oldest] = (source, socket);
            self.oldest = (self.oldest + 1) % ROUTES_MAX;
        }
    }

    /// The socket that a source is answered from.
    pub fn socket(&self, source: SocketAddr) -> usize {
        let route = self.routes.iter().find(|(known, _)| *known == source);
        route.map_or(0, |(_, socket)| *socket)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_is_answered_from_the_socket_that_heard_it_last_and_strangers_are_bounded() {
        let source = |port| SocketAddr::from(([127, 0, 0, 1], port));
        let mut routes = Routes::new();
        assert_eq!(routes.socket(source(1)), 0);
        routes.note(source(1), 2);
        routes.note(source(1), 1);
        assert_eq!(routes.socket(source(1)), 1);
        (2..=200).for_each(|port| routes.note(source(port), 3));
        assert_eq!((routes.socket(source(200)), routes.socket(source(1))), (3, 0));
        assert_eq!(routes.routes.len(), ROUTES_MAX);
    }
}
