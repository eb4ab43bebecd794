//! A strategy's way to one of its gateways: what comes over it, and what is known by it.

use taut_market_data::Event;
use taut_ring::{Bell, RingError, broadcast, spsc};
use taut_sync::atomic::{AtomicU64, Ordering, fence};
use taut_types::Nanos;

use crate::counters::StrategyCounters;
use crate::gateways::InstrumentNumbers;
use crate::mark::Mark;
use crate::message::{Reply, ReplyReader, ReplyStamp};
use crate::regions::{Regions, StrategyRegions, TICKS_LAYOUT};
use crate::timer::Timer;

/// Something that a gateway tells.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Item {
    /// Of the market.
    Event(Event, Mark),
    /// To this strategy alone, and when it was told.
    Reply(Reply, ReplyStamp),
    /// The gateway's timer fired.
    Timer(Timer),
    /// The market ring went on without the reader: so many events are lost.
    Overtaken(u64),
    /// A part of something, or nothing that is known.
    Nothing,
}

/// The reading ends of the rings.
#[derive(Debug)]
struct Ends<'m> {
    ticks: broadcast::Subscriber<'m>,
    replies: spsc::Consumer<'m>,
    counters: &'m [AtomicU64],
    bell: Bell<'m>,
}

/// What is kept when the rings are let go for a moment.
#[derive(Debug, Default)]
pub(crate) struct LinkState {
    reader: ReplyReader,
    /// A reply whose turn has not come, and when it was told.
    reply: Option<(Reply, ReplyStamp)>,
    /// What comes next, where it had to be known before its turn.
    next: Option<Item>,
    /// Where the market ring is read on; none before it was read.
    position: Option<u64>,
    /// Nothing before the gateway tells this process what to begin with is for it.
    pub(crate) has_begun: bool,
    /// Something of the packet at hand was told.
    pub(crate) is_in_batch: bool,
    /// The gateway is to be asked for all books, and could not be yet.
    pub(crate) wants_books: bool,
    /// Pieces of books from before this place of the market ring are of no use: events behind them
    /// are lost.
    pub(crate) books_from: u64,
    /// They were lost before the gateway told what to begin with: such a piece is asked for again.
    pub(crate) has_begun_late: bool,
    pub(crate) counters: StrategyCounters,
}

/// The way from one gateway.
#[derive(Debug)]
pub(crate) struct Link<'m> {
    /// None while the gateway is not there.
    ends: Option<Ends<'m>>,
    numbers: InstrumentNumbers,
    pub(crate) state: LinkState,
}

impl<'m> Link<'m> {
    /// The way from a gateway that is not there.
    pub(crate) const fn closed(numbers: InstrumentNumbers, state: LinkState) -> Self {
        Self { ends: None, numbers, state }
    }

    /// Opens it, or opens it again, where it was left.
    pub(crate) fn open(
        &mut self,
        regions: &Regions<'m>,
        own: &StrategyRegions<'m>,
    ) -> Result<(), RingError> {
        let start = self.state.position.map_or(broadcast::Start::Oldest, broadcast::Start::At);
        let ticks = broadcast::Subscriber::passive(regions.ticks, TICKS_LAYOUT, start)?;
        if self.state.position.is_none() {
            // What the ring no longer has may be in no book that was told before.
            (self.state.books_from, self.state.has_begun_late) = (ticks.position(), true);
        }
        self.ends = Some(Ends {
            ticks,
            replies: spsc::Consumer::resume(own.replies)?,
            counters: own.counters,
            bell: own.bell,
        });
        Ok(())
    }

    /// What is kept without the rings.
    pub(crate) fn into_state(mut self) -> LinkState {
        if let Some(mut ends) = self.ends.take() {
            // What was taken is not to be read again.
            ends.replies.report();
            self.state.position = Some(ends.ticks.position());
        }
        self.state
    }

    /// What comes next.
    #[inline]
    pub(crate) fn take(&mut self) -> Option<Item> {
        // Taken out only where there is one: an item is some hundred bytes.
        if self.state.next.is_some() { self.state.next.take() } else { self.read() }
    }

    /// When that happened which comes next.
    pub(crate) fn next_time(&mut self) -> Option<Nanos> {
        if self.state.next.is_none() {
            self.state.next = self.read();
        }
        Some(match self.state.next.as_ref()? {
            Item::Event(event, _) => event.receive_time,
            Item::Reply(_, stamp) => stamp.at,
            Item::Timer(timer) => timer.at,
            // Nobody need wait for these.
            Item::Overtaken(_) | Item::Nothing => Nanos::ZERO,
        })
    }

    /// The next reply if it comes before the next event of the market ring, else that one.
    #[inline]
    fn read(&mut self) -> Option<Item> {
        self.read_while(|| ())
    }

    /// The same, while the gateway writes on: it does so between two looks at its rings.
    #[inline]
    pub(crate) fn read_while(&mut self, mut writes: impl FnMut()) -> Option<Item> {
        let Self { ends, numbers, state } = self;
        let Ends { ticks, replies, .. } = ends.as_mut()?;
        // First of all: a reply that came before this event is there when the event is. The other
        // way round, both may come between the two looks, and the event would be told first.
        let has_event = ticks.has_next();
        // Acquire: what the gateway wrote before the event is seen from here on.
        fence(Ordering::Acquire);
        writes();
        if state.reply.is_none()
            && let Some(payload) = replies.pop()
        {
            state.reply = state.reader.read(&payload);
            // A slot that goes before another one is no reply yet.
            if state.reply.is_none() {
                return Some(Item::Nothing);
            }
        }
        if state.reply.is_some()
            && state.reader.position() <= ticks.position()
            && let Some((reply, stamp)) = state.reply.take()
        {
            return Some(Item::Reply(numbers.of_reply(reply), stamp));
        }
        writes();
        if !has_event {
            return None;
        }
        Some(match ticks.poll() {
            broadcast::Polled::Message(payload) => {
                if let Some((event, mark)) = Event::from_words(&payload) {
                    state.counters.events += 1;
                    let instrument = numbers.merged(event.instrument);
                    Item::Event(Event { instrument, ..event }, Mark(mark))
                } else {
                    Timer::of_slot(&payload).map_or(Item::Nothing, Item::Timer)
                }
            }
            broadcast::Polled::Lapped(lost) => Item::Overtaken(lost),
            // The gateway is ready: what it publishes comes next.
            broadcast::Polled::NewWriter(_) => Item::Nothing,
            broadcast::Polled::Empty => return None,
        })
    }

    /// The market ring went on without the reader.
    pub(crate) fn overtaken(&mut self, events: u64) {
        let lapped = &mut self.state.counters.lapped;
        *lapped = lapped.saturating_add(events);
        if let Some(ends) = &self.ends {
            self.state.books_from = ends.ticks.position();
            self.state.has_begun_late = !self.state.has_begun;
        }
    }

    /// Has the gateway ring with what it tells next.
    pub(crate) fn listen(&self) {
        if let Some(ends) = &self.ends {
            let _ = ends.bell.listen();
        }
    }

    /// Shows others what was counted.
    pub(crate) fn store_counters(&mut self) {
        if let Some(ends) = &self.ends {
            self.state.counters.position = ends.ticks.position();
            self.state.counters.store(ends.counters);
        }
    }
}
