//! Books whose channels bring nothing while others do.

use taut_types::Nanos;

use super::ChainedBooks;
use crate::event::Staleness;

impl ChainedBooks {
    /// A sound book whose channel was quiet for too long, though something came since, is stale,
    /// and its snapshot asked for: that subscribes anew.
    pub(in crate::chained) fn notice_quiet_channels(&mut self, now: Nanos) {
        let Some(quiet) = self.quiet.as_mut().filter(|quiet| now >= quiet.look_at) else { return };
        quiet.looked(now);
        let longest = quiet.longest;
        let heard = self.heard.iter().copied().max().unwrap_or_default();
        // Where nothing comes, the connection is to blame.
        if self.is_silent {
            return;
        }
        for place in 0..self.books.len() {
            let is_quiet = self.books.get(place).is_some_and(|book| {
                // One without a book is asked for already.
                let is_followed = book.chain.last().is_some();
                is_followed && heard > book.heard && now.since(book.heard) >= longest
            });
            if is_quiet {
                self.counters.channels_silent += 1;
                self.unfollow(now, place, Staleness::Silent);
            }
        }
    }
}
