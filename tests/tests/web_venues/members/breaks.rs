//! What venues do on a bad day, each by itself: what is noticed, and that all agree afterwards.

use super::*;

/// So little that a member has left unread in a few seconds.
const FEW_UNREAD_BYTES: usize = 8 << 10;

/// A connection says and hears nothing more, though it is open and its pings are answered, while
/// orders are under way on it.
pub fn a_stall_is_noticed_with_orders_under_way<L: Language>() {
    day::<L>(|world| {
        world.hands[0].borrow_mut().creates.push(limit(Side::Buy, 0, 5));
        world.until("the book has the order", World::has_orders_in_the_book);
        let before = world.disconnects();
        world.bad_day("stall=1000");
        // What is asked for now is heard by nobody, or answered by nobody.
        let order = world.orders()[0][0].id;
        world.hands[0].borrow_mut().modifies.push((order, limit(Side::Buy, -1, 7)));
        world.hands[1].borrow_mut().creates.push(limit(Side::Sell, 0, 2));
        world.until("both are given up", |it| !it.gateways.iter().any(Running::is_ready));
        world.bad_day("none");
        world.until("all is known", World::is_at_rest);
        assert!(world.disconnects() > before, "a stall ends with its connection");
    });
}

/// Messages end in the middle, at any byte, and their connections with them.
pub fn half_a_message_ends_its_connection_and_tells_nothing<L: Language>() {
    day::<L>(|world| {
        world.bad_day("torn=300,seed=5");
        for round in 0..12 {
            let side = if round % 2 == 0 { Side::Buy } else { Side::Sell };
            world.hands[round % 2].borrow_mut().creates.push(limit(side, 0, 2));
            for _ in 0..400 {
                world.turn();
            }
        }
        let injected = world.venue.observer().front().injected;
        world.bad_day("none");
        world.until("all is known", World::is_at_rest);
        assert!(injected > 20 && world.disconnects() > 20, "{}", world.told());
        assert_eq!(world.gateways.each_ref().map(|it| it.counters().malformed), [0, 0]);
    });
}

/// The feed tells a bid above every offer: the book is of no use until it is told anew, and nothing
/// is traded on it.
pub fn a_book_that_the_feed_crosses_is_told_anew<L: Language>() {
    day::<L>(|world| {
        world.hands[0].borrow_mut().creates.push(limit(Side::Buy, 0, 5));
        world.until("the book has the order", World::has_orders_in_the_book);
        world.bad_day("cross=1000");
        world.hands[0].borrow_mut().creates.push(limit(Side::Buy, -1, 5));
        world.until("the books are stale", |it| !it.gateways.iter().any(Running::is_ready));
        for gateway in &world.gateways {
            assert_eq!(gateway.stale_books().count(), 1);
        }
        // Whoever trusts no book places no order.
        let sent = world.gateways[1].counters().orders;
        world.hands[1].borrow_mut().creates.push(limit(Side::Sell, 0, 2));
        world.until("it is refused", |it| it.has_been_refused(1));
        assert_eq!(world.gateways[1].counters().orders, sent);
        world.bad_day("none");
        world.until("all is known", World::is_at_rest);
    });
}

/// A cache in front of the venue answers with a book that is older than all that came since.
pub fn an_old_snapshot_joins_nothing_and_is_asked_for_again_within_the_budget<L: Language>() {
    day::<L>(|world| {
        world.hands[0].borrow_mut().creates.push(limit(Side::Buy, 0, 5));
        world.until("the book has the order", World::has_orders_in_the_book);
        world.bad_day("stale=1000");
        let network = world.machine.network().expect("a simulated one").clone();
        (0..32).for_each(|stream| network.cut(stream));
        world.until("the connections are gone", |it| !it.are_ready());
        // The book is another one by now.
        world.requests(L::stir);
        let (end, before) = (world.now() + Nanos::from_secs(5), world.injected());
        while world.now() < end {
            world.turn();
            assert!(!world.gateways.iter().any(Running::is_ready), "{}", world.told());
        }
        let asked = world.injected() - before;
        assert!((2..=60).contains(&asked), "{asked} snapshots in five seconds, by two");
        world.bad_day("none");
        world.until("all is known", World::is_at_rest);
    });
}

/// A maintenance ends with a venue whose ids begin again: those of changes, and those of trades
/// that are other trades.
pub fn ids_that_begin_again_are_others<L: Language>() {
    day::<L>(|world| {
        let trade = |world: &mut World<'_, L>, held: i64| {
            world.hands[0].borrow_mut().creates.push(limit(Side::Buy, 0, 2));
            world.until("the book has the order", World::has_orders_in_the_book);
            world.hands[1].borrow_mut().creates.push(limit(Side::Sell, 0, 2));
            world.until("two lots traded", |it| it.positions() == [held, -held] && it.is_at_rest());
        };
        trade(world, 2);
        let before = world.disconnects();
        world.bad_day("maintenance,restart");
        for _ in 0..200 {
            world.turn();
        }
        world.bad_day("none");
        world.until("connections end", |it| it.disconnects() >= before + 4);
        world.until("all is known", World::is_at_rest);
        // This trade has the number of the other.
        trade(world, 4);
        assert_eq!(world.gateways.each_ref().map(|it| it.counters().fills), [2, 2]);
    });
}

/// The instrument is delisted while orders rest: they end, and no other one is taken.
pub fn a_delisted_instrument_has_no_orders<L: Language>() {
    day::<L>(|world| {
        world.hands[0].borrow_mut().creates.push(limit(Side::Buy, 0, 5));
        world.hands[1].borrow_mut().creates.push(limit(Side::Sell, 3, 5));
        world.until("both orders rest", |it| {
            it.orders().map(|of| of.len()) == [1, 1] && it.is_at_rest()
        });
        world.bad_day("delist");
        world.until("both orders end", World::is_nothing_open);
        for gateway in &world.gateways {
            let counters = gateway.counters();
            assert_eq!((counters.expired + counters.cancels, counters.fills), (1, 0));
        }
        world.hands[0].borrow_mut().creates.push(limit(Side::Buy, 0, 1));
        world.until("it is refused, here or there", |it| it.has_been_refused(0));
        assert_eq!(world.positions(), [0, 0]);
    });
}

/// The price step becomes larger: the instrument is traded no more until somebody has looked, and
/// what was open is cancelled.
pub fn a_larger_price_step_ends_trading_here<L: Language>() {
    day::<L>(|world| {
        world.hands[0].borrow_mut().creates.push(limit(Side::Buy, 1, 5));
        world.until("the book has the order", World::has_orders_in_the_book);
        world.bad_day("retick");
        let is_killed = |it: &World<'_, L>, member: usize| {
            it.gateways[member].killed().any(|(it, _)| it.cause == KillCause::ReferenceData)
        };
        world.until("both notice", |it| is_killed(it, 0) && is_killed(it, 1));
        world.until("its order ends", World::is_nothing_open);
        world.hands[1].borrow_mut().creates.push(limit(Side::Sell, 1, 1));
        world.until("it is refused", |it| it.has_been_refused(1));
        assert_eq!(world.gateways[1].counters().orders, 0, "nothing left");
    });
}

/// A member reads nothing for a while and is cut off by the venue, whose memory is bounded; then
/// it connects again and has all that it missed.
pub fn who_reads_too_slowly_is_cut_off_and_comes_back<L: Language>() {
    let network = SimConfig { window_bytes: 4_096, is_partial: false, ..SimConfig::default() };
    day_on::<L, Virtual>(network, FEW_UNREAD_BYTES, |world| {
        world.hands[0].borrow_mut().creates.push(limit(Side::Buy, 0, 5));
        world.until("the book has the order", World::has_orders_in_the_book);
        let before = world.disconnects();
        world.asleep_until[2] = Nanos::MAX;
        let mut rounds = 0;
        while world.venue.observer().too_slow() == 0 {
            rounds += 1;
            assert!(rounds < 5_000, "nobody was cut off");
            world.requests(L::stir);
            // A change for each.
            for _ in 0..4 {
                world.turn();
            }
        }
        assert!(world.gateways[0].is_ready(), "who reads has lost nothing");
        world.asleep_until[2] = Nanos::ZERO;
        world.until("it is cut off", |it| it.disconnects() > before);
        world.until("all is known", World::is_at_rest);
    });
}

impl<L: Language> World<'_, L> {
    /// Whether the last that a member was told is that an order was refused.
    fn has_been_refused(&self, member: usize) -> bool {
        let hands = self.hands[member].borrow();
        hands.heard.last().is_some_and(|update| update.state == OrderState::Rejected)
    }

    /// From now on the day is as these words say.
    fn bad_day(&mut self, words: &str) {
        self.set_faults(Faults::parse(words).expect("faults"));
    }

    fn injected(&self) -> u64 {
        self.venue.observer().front().injected
    }

    /// Whether both see the order of the first member.
    fn has_orders_in_the_book(&self) -> bool {
        self.orders()[0].len() == 1 && self.is_at_rest()
    }
}
