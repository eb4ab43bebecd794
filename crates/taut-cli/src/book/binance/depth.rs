//! The local book and the rules by which snapshot and updates become one.

use taut_book::{BookError, LevelBook};
use taut_types::Side;

use super::frame::{Quote, Snapshot, Ticker, Update};

/// Levels a side: a snapshot has up to 5,000, and updates add levels far from the touch for ever.
const LEVELS_MAX: usize = 1 << 16;

/// How an update fits behind the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Joined {
    /// As the rules demand.
    InSequence,
    /// Something is missing between them.
    AfterGap,
}

/// Told after each update that changed the book: its line, it, how it fits, the top.
pub(super) type Visit<'a> = dyn FnMut(usize, &Update, Joined, Ticker) + 'a;

/// A book of levels that a capture builds.
pub(super) struct DepthBook {
    book: LevelBook,
    /// The snapshot's id, and the last id of the last update since.
    ids: Option<(u64, Option<u64>)>,
    /// Updates that came before the snapshot.
    early: Vec<(usize, Update)>,
}

impl DepthBook {
    pub(super) fn new() -> Self {
        Self { book: LevelBook::with_capacity(LEVELS_MAX), ids: None, early: Vec::new() }
    }

    pub(super) const fn has_started(&self) -> bool {
        self.ids.is_some()
    }

    /// Begins with a snapshot and the updates that came before it. Another snapshot later is a
    /// second opinion that nobody asked for: the book is right or wrong without it.
    pub(super) fn start(
        &mut self,
        snapshot: &Snapshot,
        visit: &mut Visit<'_>,
    ) -> Result<(), &'static str> {
        if self.has_started() {
            return Ok(());
        }
        self.ids = Some((snapshot.last_id, None));
        self.set(Side::Buy, &snapshot.bids)?;
        self.set(Side::Sell, &snapshot.asks)?;
        for (line, update) in std::mem::take(&mut self.early) {
            self.update(line, update, visit)?;
        }
        Ok(())
    }

    /// Applies an update, or keeps it until there is a snapshot.
    pub(super) fn update(
        &mut self,
        line: usize,
        update: Update,
        visit: &mut Visit<'_>,
    ) -> Result<(), &'static str> {
        let Some((snapshot_id, previous)) = self.ids else {
            self.early.push((line, update));
            return Ok(());
        };
        // Spot drops u <= lastUpdateId, futures u < lastUpdateId; an update that ends with the
        // snapshot changes nothing that the snapshot has not.
        if update.last_id <= snapshot_id {
            if update.previous_id.is_some() && update.last_id == snapshot_id {
                self.ids = Some((snapshot_id, Some(update.last_id)));
            }
            return Ok(());
        }
        let joined = if follows(&update, snapshot_id, previous) {
            Joined::InSequence
        } else {
            Joined::AfterGap
        };
        self.set(Side::Buy, &update.bids)?;
        self.set(Side::Sell, &update.asks)?;
        self.ids = Some((snapshot_id, Some(update.last_id)));
        visit(line, &update, joined, self.top());
        Ok(())
    }

    fn set(&mut self, side: Side, quotes: &[Quote]) -> Result<(), &'static str> {
        for &(price, lots) in quotes {
            match self.book.apply(side, price, lots, 0) {
                // Deleting a level that is not there is normal, Binance says.
                Ok(_) | Err(BookError::UnknownLevel) => {}
                Err(_) => return Err("the book has no room for more levels of a side"),
            }
        }
        Ok(())
    }

    fn top(&self) -> Ticker {
        let quote =
            |side| self.book.best(side).map(|level| (level.price, level.lots)).unwrap_or_default();
        Ticker { bid: quote(Side::Buy), ask: quote(Side::Sell) }
    }
}

/// The rules: the first update spans the snapshot's id (futures) or the one after it (spot); later
/// ones name the one before in `pu` (futures) or begin with the next id (spot).
fn follows(update: &Update, snapshot_id: u64, previous: Option<u64>) -> bool {
    match (update.previous_id, previous) {
        (Some(pu), Some(previous)) => pu == previous,
        (None, Some(previous)) => previous.checked_add(1) == Some(update.first_id),
        (Some(_), None) => update.first_id <= snapshot_id,
        (None, None) => update.first_id <= snapshot_id.saturating_add(1),
    }
}
