//! Orders of a strategy that is gone.

use taut_ipc::Segment;
use taut_oms::{Amount, Balance, OrderState};
use taut_sys::tape;
use taut_types::{
    AccountId, InstrumentId, Lots, OrderTerms, Price, Side, StrategyId, Symbol, UserId,
};

use super::*;
use crate::message::OpenOrder;
use crate::testing::Known;

const OWNER: Owner = Owner { user: UserId(1), strategy: StrategyId(2) };

#[test]
fn whoever_is_leaving_takes_no_other_place() {
    let segment = Segment::create("hub-two", &Regions::LAYOUT).expect("a segment");
    let own =
        [(); 2].map(|()| Segment::create("hub-two", &StrategyRegions::LAYOUT).expect("a segment"));
    let mut hub = Hub::new(&Regions::of(&segment).expect("regions")).expect("a hub");
    let [first, second] = [&own[0], &own[1]].map(|own| {
        hub.add_slot(&StrategyRegions::of(own).expect("regions"), None).expect("a slot")
    });
    assert!(hub.attach(first, OWNER));
    hub.detach(first);
    assert!(!hub.attach(second, OWNER), "its orders are not asked to be cancelled yet");
    assert!(hub.next_request().is_some_and(|it| matches!(it.kind, RequestKind::CancelAll(_))));
    assert!(hub.attach(second, OWNER));
}

#[test]
fn whoever_leaves_a_ring_of_replies_unread_is_dropped_and_that_is_told_once() {
    let segment = Segment::create("hub-full", &Regions::LAYOUT).expect("a segment");
    let own = Segment::create("hub-full", &StrategyRegions::LAYOUT).expect("a segment");
    let mut hub = Hub::new(&Regions::of(&segment).expect("regions")).expect("a hub");
    let slot = hub.add_slot(&StrategyRegions::of(&own).expect("regions"), None).expect("a slot");
    let (clock, known) = (Clock::vdso(), Known::new(0));
    assert!(hub.attach(slot, OWNER));
    hub.timer(&clock, &known, Nanos(1));
    let up = GatewayEvent::OrderEntry { is_up: true };
    for _ in 0..2 * crate::regions::REPLY_SLOTS {
        hub.gateway_event(&clock, &known, Nanos(2), &up);
    }
    assert_eq!((hub.poll_dropped(), hub.poll_dropped()), (Some(slot), None));
    assert_eq!((hub.dropped(), hub.owner(slot)), (1, None));
    // The place is the next one's when the orders of this one are asked to be cancelled.
    assert!(!hub.attach(slot, OWNER));
    assert!(hub.next_request().is_some_and(|it| matches!(it.kind, RequestKind::CancelAll(_))));
    assert!(hub.attach(slot, OWNER));
    assert_eq!(hub.poll_dropped(), None);
}

#[test]
fn orders_of_a_strategy_that_is_gone_are_cancelled_until_none_is_open() {
    let segment = Segment::create("hub-gone", &Regions::LAYOUT).expect("a segment");
    let own = Segment::create("hub-gone", &StrategyRegions::LAYOUT).expect("a segment");
    let mut hub = Hub::new(&Regions::of(&segment).expect("regions")).expect("a hub");
    let slot = hub.add_slot(&StrategyRegions::of(&own).expect("regions"), None).expect("a slot");
    let terms = OrderTerms::limit(InstrumentId(0), Side::Buy, Price(2), Lots(1));
    let (id, state, lots_open) = (OWNER.order(1), OrderState::Working, Lots(1));
    let mut known = Known::new(0);
    known.orders.push(OpenOrder {
        id,
        terms,
        version: 1,
        price_asked: terms.price,
        lots_asked: terms.lots,
        state,
        lots_open,
        tag: 0,
    });
    let clock = Clock::vdso();
    let cancels = |hub: &mut Hub<'_>, known: &Known, millis| {
        hub.timer(&clock, known, Nanos::from_millis(millis));
        let request = hub.next_request();
        assert!(request.is_none_or(|it| matches!(it.kind, RequestKind::CancelAll(_))));
        request.is_some_and(|it| Owner::of(it.id) == OWNER)
    };
    assert!(hub.attach(slot, OWNER));
    assert!(!cancels(&mut hub, &known, 1), "it is here");
    hub.detach(slot);
    assert!(cancels(&mut hub, &known, 2), "at once, whatever comes of it");
    assert!(!cancels(&mut hub, &known, 1_000), "without a session");
    let up = GatewayEvent::OrderEntry { is_up: true };
    hub.gateway_event(&clock, &known, Nanos::from_millis(1_001), &up);
    assert!(cancels(&mut hub, &known, 1_001));
    assert!(!cancels(&mut hub, &known, 1_002), "again, but not at once");
    assert!(cancels(&mut hub, &known, 1_200));
    // It is back before the next time, and gone again.
    assert!(hub.attach(slot, OWNER));
    assert!(!cancels(&mut hub, &known, 1_400));
    hub.detach(slot);
    assert!(cancels(&mut hub, &known, 1_401));
    known.orders.clear();
    assert!(!cancels(&mut hub, &known, 2_000), "none is open");
}

#[test]
fn kept_orders_wait_for_their_strategy_and_are_cancelled_when_it_does_not_come() {
    let segment = Segment::create("hub-kept", &Regions::LAYOUT).expect("a segment");
    let own = Segment::create("hub-kept", &StrategyRegions::LAYOUT).expect("a segment");
    let mut hub = Hub::new(&Regions::of(&segment).expect("regions")).expect("a hub");
    let slot = hub.add_slot(&StrategyRegions::of(&own).expect("regions"), None).expect("a slot");
    let terms = OrderTerms::limit(InstrumentId(0), Side::Buy, Price(2), Lots(1));
    let mut known = Known::new(0);
    known.orders.push(OpenOrder {
        id: OWNER.order(1),
        terms,
        version: 1,
        price_asked: terms.price,
        lots_asked: terms.lots,
        state: OrderState::Working,
        lots_open: Lots(1),
        tag: 0,
    });
    let clock = Clock::vdso();
    let up = GatewayEvent::OrderEntry { is_up: true };
    hub.gateway_event(&clock, &known, Nanos::ZERO, &up);
    let cancels = |hub: &mut Hub<'_>, millis| {
        hub.timer(&clock, &known, Nanos::from_millis(millis));
        let leaving = hub.next_request().is_some();
        leaving | hub.next_request().is_some()
    };
    hub.set_when_gone([(OWNER, WhenGone::Keep(Some(Nanos::from_millis(500))))]);
    // Back in time, they are its own.
    assert!(hub.attach(slot, OWNER));
    hub.detach(slot);
    assert!(!cancels(&mut hub, 1_000));
    assert!(hub.vacant_slot().is_some() && !cancels(&mut hub, 1_100));
    assert!(hub.attach(slot, OWNER));
    assert!(!cancels(&mut hub, 5_000));
    // From its end on it has the whole time again.
    hub.detach(slot);
    assert!(!cancels(&mut hub, 6_000) && !cancels(&mut hub, 6_100) && !cancels(&mut hub, 6_599));
    assert!(cancels(&mut hub, 6_600), "it did not come back");
    assert!(cancels(&mut hub, 6_800), "until none is open");
    // Sent away, it keeps nothing, and without a time they wait for ever.
    assert!(hub.attach(slot, OWNER));
    hub.evict(slot);
    assert!(cancels(&mut hub, 7_000));
    hub.set_when_gone([(OWNER, WhenGone::Keep(None))]);
    assert!(hub.attach(slot, OWNER));
    hub.detach(slot);
    assert!(!cancels(&mut hub, 8_000) && !cancels(&mut hub, 100_000_000));
    // Other settings hold from its next end on.
    assert!(hub.attach(slot, OWNER));
    hub.set_when_gone([]);
    hub.detach(slot);
    assert!(cancels(&mut hub, 100_000_001));
}

#[test]
fn no_balance_is_left_out_for_want_of_room() {
    let currencies = [&b"BTC"[..], b"ETH", b"USDC"].map(|name| Symbol::new(name).expect("a name"));
    let mut known = Known::new(0);
    let (account, amount) = (AccountId(0), Amount::whole(1));
    known.balances =
        currencies.iter().map(|&currency| Balance { account, currency, amount }).collect();
    let now = Nanos::ZERO;
    let stamp = ReplyStamp { position: 0, at: now, published: now };
    let slots = |event: GatewayEvent| event.pack(stamp).as_slice().to_vec();
    let end = slots(GatewayEvent::DownloadEnd);
    // Whatever is the first piece for which there is no room.
    for room in 0..8 {
        let mut download = download::Download::from_the_beginning(OWNER, 1);
        let (mut told, mut count) = (Vec::new(), 0);
        for _ in 0..4 {
            download.tell_on(&known, now, 0, &mut |slots| {
                count += 1;
                let is_told = count != room;
                told.extend(is_told.then(|| slots.to_vec()));
                is_told
            });
        }
        assert!(!download.is_beginning(), "room for {room}");
        let before = told.iter().position(|it| *it == end).expect("the end");
        for balance in &known.balances {
            let told = told[..before].contains(&slots(GatewayEvent::Balance(*balance)));
            assert!(told, "room for {room}: {balance:?}");
        }
    }
}

const HEIR: Owner = Owner { user: UserId(3), strategy: StrategyId(4) };

/// An order that rests, of who sent it.
fn resting(id: ClientOrderId) -> OpenOrder {
    let terms = OrderTerms::limit(InstrumentId(0), Side::Buy, Price(2), Lots(1));
    let (price_asked, lots_asked, lots_open) = (terms.price, terms.lots, terms.lots);
    let (version, state, tag) = (1, OrderState::Working, 0);
    OpenOrder { id, terms, version, price_asked, lots_asked, state, lots_open, tag }
}

/// A hub with so many places, which hands the orders of one strategy over to another one.
fn with_heir(places: usize, act: impl FnOnce(&mut Hub<'_>, &[SlotId])) {
    let segment = Segment::create("hub-heir", &Regions::LAYOUT).expect("a segment");
    let own = || Segment::create("hub-heir", &StrategyRegions::LAYOUT).expect("a segment");
    let own: Vec<_> = (0..places).map(|_| own()).collect();
    let mut hub = Hub::new(&Regions::of(&segment).expect("regions")).expect("a hub");
    let own: Vec<_> = own.iter().map(|own| StrategyRegions::of(own).expect("regions")).collect();
    let slots = own.iter().map(|own| hub.add_slot(own, None).expect("a slot"));
    let slots: Vec<_> = slots.collect();
    let up = GatewayEvent::OrderEntry { is_up: true };
    hub.gateway_event(&Clock::vdso(), &Known::new(0), Nanos::ZERO, &up);
    let wait = Some(Nanos::from_millis(500));
    hub.set_when_gone([(OWNER, WhenGone::HandOver { to: HEIR, wait })]);
    act(&mut hub, &slots);
}

/// Whose orders are cancelled at that time.
fn cancelled(hub: &mut Hub<'_>, known: &Known, millis: i64) -> Option<Owner> {
    hub.timer(&Clock::vdso(), known, Nanos::from_millis(millis));
    hub.next_request().map(|request| request.owner)
}

#[test]
fn the_orders_of_a_strategy_that_is_gone_are_handed_over_to_the_heir_that_is_here() {
    with_heir(2, |hub, slots| {
        let mut known = Known::new(0);
        known.orders.push(resting(OWNER.order(1)));
        assert!(hub.attach(slots[0], OWNER) && hub.attach(slots[1], HEIR));
        hub.detach(slots[0]);
        assert_eq!(cancelled(hub, &known, 1), None);
        assert!(!hub.attach(slots[0], OWNER), "its orders are not handed over yet");
        assert_eq!(hub.poll_hand_over(), Some((OWNER, HEIR)));
        assert_eq!(hub.poll_hand_over(), None);
        known.handed_over.push((OWNER.order(1), HEIR));
        assert!(hub.attach(slots[0], OWNER));
        assert_eq!(cancelled(hub, &known, 10_000), None, "the heir is here");
        // Gone itself, it leaves them as its own; so does one that is sent away.
        hub.detach(slots[1]);
        assert_eq!(cancelled(hub, &known, 10_001), Some(HEIR));
        known.orders.clear();
        assert_eq!(cancelled(hub, &known, 11_000), None);
        hub.evict(slots[0]);
        assert_eq!(cancelled(hub, &known, 12_000), Some(OWNER));
        assert_eq!(hub.poll_hand_over(), None);
        // Of one that does not come back after the gateway's start they go to an heir that is here.
        assert!(!hub.bequeath(OWNER), "the heir is not");
        assert!(hub.attach(slots[1], HEIR) && hub.bequeath(OWNER) && !hub.bequeath(HEIR));
        assert_eq!(hub.poll_hand_over(), Some((OWNER, HEIR)));
    });
}

/// It was over when its strategy left, and goes on.
#[test]
fn an_order_that_goes_on_is_treated_as_those_that_its_strategy_left_behind() {
    with_heir(2, |hub, slots| {
        let mut known = Known::new(0);
        assert!(hub.attach(slots[0], OWNER) && hub.attach(slots[1], HEIR));
        hub.reopened(OWNER, OWNER.order(1));
        assert_eq!(hub.poll_hand_over(), None, "its own strategy is there, and is told");
        hub.detach(slots[0]);
        assert_eq!(cancelled(hub, &known, 1), None);
        assert_eq!(hub.poll_hand_over(), Some((OWNER, HEIR)));
        hub.reopened(OWNER, OWNER.order(2));
        assert_eq!(hub.poll_hand_over(), Some((OWNER, HEIR)));
        // Those of a strategy without an heir are cancelled.
        hub.detach(slots[1]);
        assert_eq!(cancelled(hub, &known, 2), Some(HEIR));
        assert_eq!(cancelled(hub, &known, 1_000), None, "none is open");
        known.orders.push(resting(HEIR.order(1)));
        hub.reopened(HEIR, HEIR.order(1));
        assert_eq!(cancelled(hub, &known, 2_000), Some(HEIR));
    });
}

#[test]
fn orders_that_are_handed_over_wait_for_an_heir_that_is_not_here_and_are_cancelled_then() {
    with_heir(1, |hub, slots| {
        let mut known = Known::new(0);
        let end = |hub: &mut Hub<'_>, known: &mut Known, number| {
            known.orders = vec![resting(OWNER.order(number))];
            assert!(hub.attach(slots[0], OWNER));
            hub.detach(slots[0]);
            assert!(hub.next_request().is_none());
            assert_eq!(hub.poll_hand_over(), Some((OWNER, HEIR)));
            known.handed_over.push((OWNER.order(number), HEIR));
        };
        end(hub, &mut known, 1);
        assert_eq!(cancelled(hub, &known, 20_000), None);
        assert_eq!(cancelled(hub, &known, 20_499), None);
        assert!(hub.attach(slots[0], HEIR));
        assert_eq!(cancelled(hub, &known, 30_000), None, "it came in time");
        hub.evict(slots[0]);
        assert_eq!(cancelled(hub, &known, 30_001), Some(HEIR));
        known.orders.clear();
        assert_eq!(cancelled(hub, &known, 31_000), None);
        end(hub, &mut known, 2);
        assert_eq!(cancelled(hub, &known, 40_000), None);
        assert_eq!(cancelled(hub, &known, 40_500), Some(HEIR), "it did not come");
    });
}

#[test]
fn two_heirs_of_each_other_that_end_at_once_leave_all_orders_to_one_who_is_waited_for() {
    with_heir(2, |hub, slots| {
        let (mut known, wait) = (Known::new(0), Some(Nanos::ZERO));
        let heirs = [(OWNER, HEIR), (HEIR, OWNER)];
        hub.set_when_gone(heirs.map(|(owner, to)| (owner, WhenGone::HandOver { to, wait })));
        assert!(hub.attach(slots[0], OWNER) && hub.attach(slots[1], HEIR));
        slots.iter().for_each(|slot| hub.detach(*slot));
        assert!(hub.next_request().is_none());
        let handed_over = [hub.poll_hand_over(), hub.poll_hand_over()];
        assert_eq!(handed_over, heirs.map(Some));
        known.orders.push(resting(OWNER.order(1)));
        assert_eq!(cancelled(hub, &known, 1_000), Some(OWNER), "nobody came for it");
    });
}

#[test]
fn an_instrument_that_is_added_is_told_once_wherever_the_download_stands() {
    let (before, after) = (Known::new(2), Known::new(4));
    let now = Nanos::ZERO;
    let stamp = ReplyStamp { position: 0, at: now, published: now };
    // Whatever was told before the two came.
    for pieces in 0..24 {
        let mut download = download::Download::from_the_beginning(OWNER, 1);
        let mut told: Vec<Vec<taut_ring::Payload>> = Vec::new();
        let mut tell = |known: &Known, room: usize, download: &mut download::Download| {
            download.tell_on(known, now, 0, &mut |slots| {
                let has_room = told.len() < room;
                told.extend(has_room.then(|| slots.to_vec()));
                has_room
            });
        };
        (0..4).for_each(|_| tell(&before, pieces, &mut download));
        download.instruments_are(4);
        assert!(!download.is_done(), "after {pieces}");
        (0..8).for_each(|_| tell(&after, usize::MAX, &mut download));
        assert!(download.is_done(), "after {pieces}");
        let places = after.instruments.iter().map(|instrument| {
            let mut slots = Vec::new();
            crate::message::tell_instrument(instrument, stamp, &mut |piece| {
                slots.push(piece.to_vec());
                true
            });
            let is_it = |piece: &&Vec<_>| slots.contains(piece);
            let count = told.iter().filter(is_it).count();
            assert_eq!(count, slots.len(), "{instrument:?} after {pieces}");
            told.iter().position(|piece| slots.contains(piece)).expect("told")
        });
        assert!(places.is_sorted(), "after {pieces}");
        let is_book_of = |id: u32| {
            let kind = EventKind::Begin(taut_market_data::Batch::Snapshot);
            let (instrument, at) = (InstrumentId(id), Nanos::ZERO);
            let event = Event { instrument, exchange_time: at, receive_time: at, kind };
            told.iter().filter(|piece| piece[..] == [event.to_words(0)]).count()
        };
        assert_eq!([0, 1, 2, 3].map(is_book_of), [1; 4], "after {pieces}");
    }
}

#[test]
fn a_turn_in_which_a_strategy_asked_for_books_is_no_idle_one() {
    let segment = Segment::create("hub-taped", &Regions::LAYOUT).expect("a segment");
    let own = Segment::create("hub-taped", &StrategyRegions::LAYOUT).expect("a segment");
    let mut hub = Hub::new(&Regions::of(&segment).expect("regions")).expect("a hub");
    let regions = StrategyRegions::of(&own).expect("regions");
    let slot = hub.add_slot(&regions, None).expect("a slot");
    assert!(hub.attach(slot, OWNER));
    let mut requests = taut_ring::spsc::Producer::resume(regions.requests).expect("its ring");
    let request = Request {
        id: OWNER.order(0),
        owner: OWNER,
        kind: RequestKind::TellBooks,
        only_if: None,
        tag: 0,
        origin: Nanos::ZERO,
        offsets: StageOffsets::ZERO,
    };
    for is_asked in [false, true] {
        if is_asked {
            requests.push_batch(request.pack(0, 0).as_slice()).expect("room");
        }
        tape::begin_writing(false);
        assert!(hub.next_request().is_none());
        assert_eq!(tape::end_writing(|_, has_effect| has_effect), is_asked);
    }
}
