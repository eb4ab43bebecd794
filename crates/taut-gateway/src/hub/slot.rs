//! One strategy's place.

use std::fmt;

use taut_ring::{Bell, Payload, RingError, spsc};
use taut_sync::atomic::AtomicU64;
use taut_sys::Doorbell;
use taut_sys::tape::{self, Get, Heard, Put};
use taut_types::{ClientOrderId, InstrumentId, Nanos};

use crate::client::GatewayState;
use crate::counters::StrategyCounters;
use crate::hub::download::Download;
use crate::message::{
    GatewayEvent, GatewayStatus, OrderUpdate, ReplyStamp, Request, RequestKind, RequestReader,
};
use crate::owner::Owner;
use crate::regions::{REPLY_SLOTS, REQUEST_SLOTS, StrategyRegions};

/// Requests that are passed over in a row because they are none.
const PASSED_OVER_MAX: usize = 64;

/// Who has a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tenant {
    Nobody,
    /// It is told everything.
    Strategy(Owner),
    /// It is gone, and its orders are to be cancelled.
    Leaving(Owner),
}

/// A strategy decided otherwise than it had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestDifference {
    /// What it had asked for; nothing where that is no request by itself.
    pub recorded: Option<Request>,
    /// What it asks for now, if anything.
    pub now: Option<Request>,
    /// Both as they stood in the ring.
    slots: (Payload, Option<Payload>),
}

impl RequestDifference {
    /// None where they are the same decision.
    fn between(recorded: Payload, now: Option<Payload>) -> Option<Self> {
        let said = now.map(RequestReader::without_stamps);
        if said == Some(RequestReader::without_stamps(recorded)) {
            return None;
        }
        let read = |slot| Some(RequestReader::default().read(&slot)?.0);
        Some(Self { recorded: read(recorded), now: now.and_then(read), slots: (recorded, now) })
    }
}

impl fmt::Display for RequestDifference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |request: &Option<Request>, slot: Option<&Payload>| match (request, slot) {
            (Some(request), _) => format!("{} {:?}", request.id.0, request.kind),
            (None, Some(_)) => "a part of one".to_owned(),
            (None, None) => "nothing".to_owned(),
        };
        let (recorded, now) = &self.slots;
        let shown = (shown(&self.recorded, Some(recorded)), shown(&self.now, now.as_ref()));
        write!(f, "the strategy's request was {} and is {}", shown.0, shown.1)?;
        let Some(now) = now.filter(|_| shown.0 == shown.1) else { return Ok(()) };
        // What people are shown is alike: what is not?
        let mut mark = ", with";
        for (name, was, is) in RequestReader::differing(recorded, &now) {
            write!(f, "{mark} {name} {was} then and {is} now")?;
            mark = ",";
        }
        Ok(())
    }
}

/// The rings of one strategy.
#[derive(Debug)]
pub struct Slot<'m> {
    requests: spsc::Consumer<'m>,
    reader: RequestReader,
    replies: spsc::Producer<'m>,
    /// Says whether the strategy sleeps.
    bell: Bell<'m>,
    doorbell: Option<Doorbell>,
    counters: &'m [AtomicU64],
    tenant: Tenant,
    /// Above the number of every order that the strategy has sent.
    next_number: u64,
    /// The number of its last request.
    taken: u16,
    download: Download,
    /// How the gateway is, as the strategy was told last.
    status: Option<GatewayStatus>,
    /// It has been told that it may trade.
    is_ready: bool,
    /// How often a strategy was dropped, and whether that was reported.
    dropped: u64,
    is_dropped: bool,
    /// How many requests from the tape were those that the strategy makes now, where it is there.
    compared: Option<u64>,
    /// Those that are to be compared.
    given: Vec<Payload>,
}

impl<'m> Slot<'m> {
    pub fn new(
        regions: &StrategyRegions<'m>,
        doorbell: Option<Doorbell>,
    ) -> Result<Self, RingError> {
        Ok(Self {
            requests: spsc::Consumer::resume(regions.requests)?,
            reader: RequestReader::default(),
            replies: spsc::Producer::resume(regions.replies)?,
            bell: regions.bell,
            doorbell,
            counters: regions.counters,
            tenant: Tenant::Nobody,
            next_number: 1,
            taken: 0,
            download: Download::default(),
            status: None,
            is_ready: false,
            dropped: 0,
            is_dropped: false,
            compared: None,
            given: Vec::new(),
        })
    }

    /// Whether the place is this owner's, who may be leaving.
    pub fn is_of(&self, owner: Owner) -> bool {
        self.tenant == Tenant::Strategy(owner) || self.tenant == Tenant::Leaving(owner)
    }

    pub fn is_vacant(&self) -> bool {
        self.tenant == Tenant::Nobody
    }

    pub const fn owner(&self) -> Option<Owner> {
        match self.tenant {
            Tenant::Strategy(owner) => Some(owner),
            _ => None,
        }
    }

    pub const fn dropped(&self) -> u64 {
        self.dropped
    }

    pub fn beats(&self) -> u64 {
        let ask = || StrategyCounters::load(self.counters).beats;
        tape::hear(Heard::Count, ask, |beats, on| on.number(*beats), |from| from.number())
    }

    /// Whether the strategy was dropped since this was asked last.
    pub const fn take_dropped(&mut self) -> bool {
        core::mem::replace(&mut self.is_dropped, false)
    }

    /// Whether it is told what happens: somebody is there, and knows what it begins with.
    pub fn is_told(&self) -> bool {
        self.owner().is_some() && !self.download.is_beginning()
    }

    pub fn is_downloading(&self) -> bool {
        self.owner().is_some() && !self.download.is_done()
    }

    pub fn attach(&mut self, owner: Owner, next_number: u64) {
        // What the one before asked for and was not served: a whole ring of it at most.
        let _ = (0..REQUEST_SLOTS).take_while(|_| self.pop().is_some()).count();
        self.reader = RequestReader::default();
        self.tenant = Tenant::Strategy(owner);
        (self.next_number, self.taken) = (next_number, 0);
        self.download = Download::from_the_beginning(owner, next_number);
        (self.status, self.is_ready) = (None, false);
    }

    pub fn drop_strategy(&mut self) {
        if let Tenant::Strategy(owner) = self.tenant {
            self.tenant = Tenant::Leaving(owner);
        }
    }

    /// Whose orders are to be cancelled, and the number of its next one; the place is free then.
    #[inline]
    pub fn take_leaving(&mut self) -> Option<(Owner, u64)> {
        let Tenant::Leaving(owner) = self.tenant else { return None };
        self.tenant = Tenant::Nobody;
        Some((owner, self.next_number))
    }

    /// The next request of the strategy. Words that are none are a broken peer's, and so is a new
    /// order in another one's name: they are passed over.
    #[inline]
    pub fn next_request(&mut self) -> Option<(Request, u16)> {
        let owner = self.owner()?;
        for _ in 0..PASSED_OVER_MAX {
            let payload = self.pop()?;
            match self.reader.read(&payload) {
                Some((request, ..)) if request.kind == RequestKind::TellBooks => {
                    self.download.tell_books();
                }
                Some((request, mark, number)) if Owner::of(request.id) == owner => {
                    self.next_number = self.next_number.max(request.id.number() + 1);
                    self.taken = number;
                    return Some((request, mark));
                }
                // An order that was handed over keeps the id that its sender gave it.
                Some((request, mark, number)) if request.is_of_one_order() => {
                    self.taken = number;
                    return Some((Request { owner, ..request }, mark));
                }
                _ => {}
            }
        }
        None
    }

    /// What the strategy left in its ring.
    #[inline]
    fn pop(&mut self) -> Option<Payload> {
        let put = |slot: &Option<Payload>, on: &mut Put<'_>| {
            let words = slot.as_ref().map_or(&[][..], |words| words.as_slice());
            on.number(words.len() as u64);
            words.iter().for_each(|word| on.number(*word));
        };
        let get = |from: &mut Get<'_>| {
            if from.number()? == 0 {
                return Some(None);
            }
            let mut slot = Payload::default();
            for word in &mut slot {
                *word = from.number()?;
            }
            Some(Some(slot))
        };
        let ask = || {
            let slot = self.requests.pop();
            if slot.is_some() {
                // One that asks for books leaves nothing else behind while there is no room to
                // tell them.
                tape::mark_effect();
            }
            slot
        };
        let slot = tape::hear(Heard::Request, ask, put, get);
        if tape::is_reading() && self.compared.is_some() {
            self.given.extend(slot);
        }
        slot
    }

    /// Requests that are given from a tape are compared from here on.
    pub const fn begin_comparing(&mut self) {
        self.compared = Some(0);
    }

    /// How many were compared; none where they are not.
    pub const fn requests_compared(&self) -> Option<u64> {
        self.compared
    }

    /// Holds the requests that were given since the last time against those of the strategy, which
    /// has had its turn: the first that is another one.
    pub fn compare_requests(&mut self) -> Option<RequestDifference> {
        for recorded in std::mem::take(&mut self.given) {
            let compared = self.compared.as_mut()?;
            if RequestReader::asks_for_books(&recorded) {
                // It was overtaken, as none is here: what it knew then is not known now.
                self.compared = None;
                return None;
            }
            *compared += 1;
            let difference = RequestDifference::between(recorded, self.requests.pop());
            if difference.is_some() {
                return difference;
            }
        }
        None
    }

    /// Tells the strategy; one that left a whole ring unread is dropped.
    pub fn push(&mut self, slots: &[Payload]) {
        // One that is dropped already is told no more.
        if self.owner().is_some() && !push(&mut self.replies, slots) {
            self.dropped += 1;
            self.is_dropped = true;
            self.drop_strategy();
        }
    }

    /// Tells what became of an order, and up to which request that is known.
    pub fn push_update(&mut self, update: &OrderUpdate, stamp: ReplyStamp) {
        self.push(update.pack(stamp, self.taken).as_slice());
    }

    /// The strategy is to be told of orders that are its own from now on.
    pub fn inherit(&mut self, orders: &[ClientOrderId]) {
        self.download.inherit(orders);
    }

    /// Wakes the strategy, if it sleeps. Cost, if it does not: a load.
    #[inline]
    pub fn wake(&self) {
        if let Some(doorbell) = &self.doorbell
            && self.owner().is_some()
            && self.bell.strike()
        {
            doorbell.ring();
        }
    }

    /// There are so many instruments now.
    pub const fn instruments_are(&mut self, count: usize) {
        self.download.instruments_are(count);
    }

    /// What became of a book, as all are told now.
    pub fn book_became(&mut self, instrument: InstrumentId, is_sound: bool) {
        if self.owner().is_some() {
            self.download.book_became(instrument, is_sound);
        }
    }

    /// The single orders of a book are others, or not known, as all are told now.
    pub fn orders_became(&mut self, instrument: InstrumentId) {
        if self.owner().is_some() {
            self.download.orders_became(instrument);
        }
    }

    /// Orders cannot be sent: it is to be told when it may trade again.
    pub const fn is_ready_no_more(&mut self) {
        self.is_ready = false;
    }

    /// Tells how the gateway is, and that the strategy may trade, where that is new to one that
    /// knows what it begins with. Who reads slowly is told later: it is not dropped for this.
    pub fn tell_status(&mut self, state: &impl GatewayState, stamp: ReplyStamp) {
        let has_room = has_room(&mut self.replies);
        let Some(owner) = self.owner().filter(|_| has_room && self.is_told()) else { return };
        let status = state.status(owner);
        let mut has_news = false;
        if self.status.replace(status) != Some(status) {
            self.push(GatewayEvent::Status(status).pack(stamp).as_slice());
            has_news = true;
        }
        if !self.is_ready && self.download.is_done() && state.is_ready() {
            self.is_ready = true;
            self.push(GatewayEvent::Ready.pack(stamp).as_slice());
            has_news = true;
        }
        if has_news {
            self.wake();
        }
    }

    /// Tells on what the strategy begins with, as far as its ring has room; whether it did.
    #[cold]
    pub fn tell_on(&mut self, state: &impl GatewayState, now: Nanos, position: u64) -> bool {
        let Self { replies, download, .. } = self;
        // Room is kept for what happens meanwhile.
        let told = download
            .tell_on(state, now, position, &mut |slots| has_room(replies) && push(replies, slots));
        if told {
            self.wake();
        }
        told
    }
}

/// Whether half of a strategy's ring is free.
fn has_room(replies: &mut spsc::Producer<'_>) -> bool {
    let ask = || replies.has_room((REPLY_SLOTS / 2) as u64);
    tape::hear(Heard::Room, ask, |has, on| on.number((*has).into()), |from| from.flag())
}

/// Puts these slots into a strategy's ring, if they have room. A gateway that is replayed has no
/// strategies: what would be told is held against what was.
fn push(replies: &mut spsc::Producer<'_>, slots: &[Payload]) -> bool {
    for slot in slots.iter().filter(|_| tape::is_on()) {
        let mut bytes = [0; size_of::<Payload>()];
        let (words, _) = bytes.as_chunks_mut();
        words.iter_mut().zip(slot).for_each(|(bytes, word)| *bytes = word.to_le_bytes());
        tape::tell(Heard::Reply, &[&bytes]);
    }
    if tape::is_reading() {
        // A strategy that is here hears it, too.
        let _ = replies.push_batch(slots);
    }
    let ask = || replies.push_batch(slots).is_ok();
    tape::hear(Heard::Room, ask, |has, on| on.number((*has).into()), |from| from.flag())
}

#[cfg(test)]
mod tests {
    use taut_lat::StageOffsets;

    use super::*;

    #[test]
    fn two_requests_that_look_alike_are_told_with_what_they_differ_in() {
        let cancel = |origin, stage, mark| {
            let (id, owner, kind) = (ClientOrderId(19), Owner::default(), RequestKind::Cancel);
            let offsets = StageOffsets::from_ends([0, 0, 0, stage, 0, 0, 0, 0, 0]);
            let request = Request { id, owner, kind, only_if: None, tag: 3, origin, offsets };
            request.pack(mark, 7).as_slice()[0]
        };
        let live = cancel(Nanos(1_234), 50, 5);
        assert_eq!(RequestDifference::between(live, Some(cancel(Nanos(1_234), 60, 5))), None);
        let told = |now| RequestDifference::between(live, now).expect("another one").to_string();
        assert_eq!(
            told(Some(cancel(Nanos::ZERO, 0, 0))),
            "the strategy's request was 19 Cancel and is 19 Cancel, with a packet received at \
             1234 then and 0 now, the mark 5 then and 0 now"
        );
        assert_eq!(told(None), "the strategy's request was 19 Cancel and is nothing");
    }
}
