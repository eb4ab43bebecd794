//! Which stream is followed: a feed that restarts begins a new one.

/// How many streams that were left are remembered: their late packets start nothing.
const LEFT_MAX: usize = 4;

/// StreamStanding packet it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StreamStanding {
    /// The stream that is followed, or the first one heard.
    Followed,
    /// Another one, which is left alone.
    Foreign,
    /// The one to follow from now on.
    Successor,
}

/// What is known of other streams.
#[derive(Debug)]
pub(crate) struct Streams {
    /// So many packets of another stream make it the one to follow; nothing when none ever does.
    successor_after: Option<u32>,
    left: [Option<u32>; LEFT_MAX],
    next_left: usize,
    /// Another stream, and how many of its packets came without one of ours between them.
    candidate: Option<(u32, u32)>,
    restarts: u64,
}

impl Streams {
    pub(crate) const fn new(successor_after: Option<u32>) -> Self {
        Self { successor_after, left: [None; LEFT_MAX], next_left: 0, candidate: None, restarts: 0 }
    }

    #[inline]
    pub(crate) fn classify(
        &mut self,
        stream_id: u32,
        followed: Option<u32>,
        is_silent: bool,
    ) -> StreamStanding {
        if followed.is_none_or(|followed| followed == stream_id) {
            self.candidate = None;
            return StreamStanding::Followed;
        }
        self.classify_other(stream_id, is_silent)
    }

    #[cold]
    fn classify_other(&mut self, stream_id: u32, is_silent: bool) -> StreamStanding {
        let Some(successor_after) = self.successor_after else { return StreamStanding::Foreign };
        // One that was left for the late packets of the one before it is there yet when those end.
        if self.left.contains(&Some(stream_id)) && !is_silent {
            return StreamStanding::Foreign;
        }
        let count = match self.candidate {
            Some((candidate, count)) if candidate == stream_id => count.saturating_add(1),
            _ => 1,
        };
        self.candidate = Some((stream_id, count));
        if count < successor_after {
            return StreamStanding::Foreign;
        }
        self.restarts += 1;
        StreamStanding::Successor
    }

    /// A stream is not followed any more.
    pub(crate) fn leave(&mut self, stream_id: Option<u32>) {
        self.candidate = None;
        if let Some(slot) = self.left.get_mut(self.next_left) {
            *slot = stream_id;
        }
        self.next_left = (self.next_left + 1) % LEFT_MAX;
    }

    /// The stream that is followed began again.
    pub(crate) const fn note_restart(&mut self) {
        self.restarts += 1;
    }

    pub(crate) const fn restarts(&self) -> u64 {
        self.restarts
    }
}
