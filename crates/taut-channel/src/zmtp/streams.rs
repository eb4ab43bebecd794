//! Which peer a stream of the loop belongs to.

use taut_io::Handle;

const NOBODY: usize = usize::MAX;

/// Peers by the places of their streams. A place is used again: whoever asks compares the handle.
#[derive(Debug, Default)]
pub(super) struct Streams {
    peers: Vec<usize>,
}

impl Streams {
    /// From now on this stream is that peer's.
    pub(super) fn note(&mut self, stream: Handle, peer: usize) {
        let place = stream.index();
        if self.peers.len() <= place {
            self.peers.resize(place + 1, NOBODY);
        }
        self.peers[place] = peer;
    }

    /// The peer that had the stream's place last.
    pub(super) fn index(&self, stream: Handle) -> Option<usize> {
        self.peers.get(stream.index()).copied().filter(|peer| *peer != NOBODY)
    }
}
