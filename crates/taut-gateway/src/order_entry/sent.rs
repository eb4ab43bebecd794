//! Requests by their ids, until they are answered.

/// Requests that are remembered. One that is older has its order asked about, like one that was
/// never answered.
const SENT_MAX: usize = 4_096;

/// The newest requests.
#[derive(Debug)]
pub(super) struct Sent<A> {
    ring: Box<[Option<(u64, A)>]>,
    last: u64,
}

impl<A: Copy> Sent<A> {
    pub(super) fn new() -> Self {
        Self::from(0)
    }

    /// The first id is the one behind this.
    pub(super) fn from(last: u64) -> Self {
        Self { ring: vec![None; SENT_MAX].into_boxed_slice(), last }
    }

    /// The id of the request that was sent last.
    pub(super) const fn last(&self) -> u64 {
        self.last
    }

    /// The id of the next request.
    pub(super) const fn next(&self) -> u64 {
        self.last + 1
    }

    /// The next request asks for this.
    pub(super) fn push(&mut self, asked: A) {
        self.push_as(self.next(), asked);
    }

    /// The request with this id asks for this.
    pub(super) fn push_as(&mut self, id: u64, asked: A) {
        self.last = id;
        if let Some(place) = self.ring.get_mut(self.last as usize % SENT_MAX) {
            *place = Some((self.last, asked));
        }
    }

    /// What the request with this id, which is answered, asked for; nothing the second time.
    pub(super) fn take(&mut self, id: u64) -> Option<A> {
        let place = self.ring.get_mut(id as usize % SENT_MAX)?;
        place.take_if(|(of, _)| *of == id).map(|(_, asked)| asked)
    }

    /// The request that asked for something that is answered without its id, likewise. Looks at all
    /// of them.
    pub(super) fn take_where(&mut self, is_asked: impl Fn(&A) -> bool) -> Option<(u64, A)> {
        let mut all = self.ring.iter_mut();
        all.find_map(|place| place.take_if(|(_, asked)| is_asked(asked)))
    }

    /// The connection is gone, and the answers with it. Ids go on.
    pub(super) fn forget(&mut self) {
        self.ring.fill(None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_taken_once_and_the_oldest_give_way() {
        let mut sent = Sent::new();
        sent.push('a');
        sent.push('b');
        assert_eq!((sent.take(2), sent.take(2)), (Some('b'), None));
        assert_eq!(sent.take(3), None);
        (0..SENT_MAX).for_each(|_| sent.push('c'));
        assert_eq!(sent.take(1), None);
        sent.forget();
        assert_eq!((sent.take(sent.last()), sent.next()), (None, SENT_MAX as u64 + 3));
    }
}
