//! Symbols that are added while the others are followed.

use taut_types::{Instrument, InstrumentError, Nanos};

use super::{BinanceConfig, BinanceFeed, BinanceFeeds, QUIET};
use crate::handler::{FollowError, Source};

impl BinanceFeeds {
    /// Takes the room for so many instruments that may come
    /// ([`FeedHandler::follow`](crate::FeedHandler::follow)), each followed as the first of those
    /// that there are. The memory for a book is taken when its instrument comes.
    pub fn reserve_instruments(&mut self, more: usize) {
        self.feeds.reserve_exact(more);
        self.names.reserve_exact(more);
        self.room = more;
    }

    /// Follows one more symbol behind the others, on the lines that there are.
    pub(super) fn add(&mut self, instrument: &Instrument, name: &[u8]) -> Result<(), FollowError> {
        let (id, place) = (instrument.id(), self.feeds.len());
        if (id.0 as usize) < place {
            return Err(FollowError::SameNumber(id));
        }
        if self.room == 0 || id.0 as usize > place {
            return Err(FollowError::Full);
        }
        let usual = self.usual.ok_or(FollowError::Fixed)?;
        let small = name.to_ascii_lowercase().into_boxed_slice();
        let Err(at) = self.names.binary_search_by(|(own, _)| own.cmp(&small)) else {
            return Err(FollowError::Name);
        };
        let text = str::from_utf8(name).map_err(|_| FollowError::Name)?;
        let silence = Nanos(usual.silence.0.saturating_mul(QUIET));
        let config = BinanceConfig { instrument: *instrument, silence, ..usual };
        let mut feed =
            BinanceFeed::named(text, &config, self.heard).map_err(|error| match error {
                InstrumentError::BadIncrement => FollowError::Lot,
                _ => FollowError::Name,
            })?;
        for (line, is_live) in [Source::LINE_A, Source::LINE_B].into_iter().zip(self.are_live) {
            if is_live {
                feed.set_live(line);
            }
        }
        self.feeds.push(feed);
        self.names.insert(at, (small, place));
        self.room -= 1;
        Ok(())
    }
}
