//! The levels of a frame: room that is used again and again.

use alloc::boxed::Box;

use taut_book::LevelBook;
use taut_types::{Lots, Price, Side};

use super::book::{Action, FrameLevel};
use crate::scan::Scanner;

const VACANT: FrameLevel = FrameLevel { action: Action::Unsaid, price: Price(0), lots: Lots::ZERO };

/// Bids and asks, in whatever order they came.
#[derive(Debug)]
pub(crate) struct FrameLevels {
    slots: Box<[FrameLevel]>,
    used: usize,
    /// Where each side begins and ends; nothing when it has not come.
    spans: [Option<(usize, usize)>; 2],
}

impl FrameLevels {
    pub(crate) fn new(levels_max: usize) -> Self {
        let slots = alloc::vec![VACANT; levels_max].into_boxed_slice();
        Self { slots, used: 0, spans: [None; 2] }
    }

    /// Makes room for the next frame.
    #[inline]
    pub(crate) const fn clear(&mut self) {
        (self.used, self.spans) = (0, [None; 2]);
    }

    /// Reads an array of levels. `read` takes one; it gives nothing inside for one that is to be
    /// left out.
    #[inline]
    pub(crate) fn read_side<'a>(
        &mut self,
        scanner: &mut Scanner<'a>,
        side: Side,
        mut read: impl FnMut(&mut Scanner<'a>) -> Option<Option<FrameLevel>>,
    ) -> Option<()> {
        let from = self.used;
        let levels_max = self.slots.len();
        let mut slots = self.slots.get_mut(from..).unwrap_or_default().iter_mut();
        let mut used = from;
        scanner.array(|scanner| {
            let Some(level) = read(scanner)? else { return Some(()) };
            let Some(slot) = slots.next() else { return scanner.overflow(levels_max) };
            *slot = level;
            used += 1;
            Some(())
        })?;
        self.used = used;
        if let Some(span) = self.spans.get_mut(side.index()) {
            *span = Some((from, used));
        }
        Some(())
    }

    /// Whether the frame has this side, be it empty.
    #[inline]
    pub(crate) fn has(&self, side: Side) -> bool {
        self.spans.get(side.index()).is_some_and(Option::is_some)
    }

    /// Makes the levels say what the book has.
    pub(crate) fn stand_in(&mut self, book: &LevelBook) {
        for (side, span) in Side::BOTH.into_iter().zip(self.spans) {
            let (from, to) = span.unwrap_or((0, 0));
            let slots = self.slots.get_mut(from..to).unwrap_or_default();
            for (depth, slot) in slots.iter_mut().enumerate() {
                let (price, lots) = book.stand_in(side, slot.price, depth);
                *slot = FrameLevel { action: Action::Unsaid, price, lots };
            }
        }
    }

    /// The bids and the asks.
    #[inline]
    pub(crate) fn sides(&self) -> [&[FrameLevel]; 2] {
        self.spans.map(|span| {
            let (from, to) = span.unwrap_or((0, 0));
            self.slots.get(from..to).unwrap_or_default()
        })
    }
}
