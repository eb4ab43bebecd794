//! Seeded entries of a gateway's life, and what they come to, computed the slow way.

use std::collections::{BTreeMap, BTreeSet};

use taut_journal::{
    Asked, Entry, Fill, OpenOrder, OrderRecord, Settings, State, Unanswered, VenueId,
};
use taut_oms::{Amount, Owner, Position, PositionKey, Trade};
use taut_testkit::{Draw, Random};
use taut_types::{
    AccountId, ClientOrderId, InstrumentId, Lots, OrderFlags, OrderTerms, OrderType, Price,
    RequestId, Side, StrategyId, TimeInForce, UserId,
};

/// The smallest segments, all executions.
pub fn small() -> Settings {
    Settings { segment_bytes: 64 << 10, executions_max: 40, ..Settings::default() }
}

/// A few open orders at a time, each with a life of its own; reports of strangers among them.
pub struct Flow {
    random: Random,
    orders: Vec<(OrderTerms, RequestId, i64)>,
    /// Whose each of them is.
    owners: Vec<Owner>,
    numbers: u64,
    execution: u64,
}

impl Flow {
    pub fn new(seed: u64) -> Self {
        let (orders, owners) = (Vec::new(), Vec::new());
        Self { random: Random::with_seed(seed), orders, owners, numbers: 0, execution: 0 }
    }

    fn below(&mut self, end: u64) -> u64 {
        self.random.below(end)
    }

    fn terms(&mut self) -> OrderTerms {
        let is_stop = self.below(4) == 0;
        OrderTerms {
            account: AccountId(self.below(3) as u8),
            order_type: OrderType::from_index(self.below(2) as u8).expect("one of two"),
            time_in_force: TimeInForce::from_index(self.below(4) as u8).expect("one of four"),
            flags: OrderFlags::from_bits(self.below(4) as u8).expect("two bits"),
            stop_price: is_stop.then_some(Price(self.below(9) as i64)),
            lots_shown: Lots(self.below(3) as i64),
            ..OrderTerms::limit(
                InstrumentId(self.below(5) as u32),
                Side::from_index(self.below(2) as u8).expect("a side"),
                Price(1_000 + self.below(50) as i64),
                Lots(1 + self.below(20) as i64),
            )
        }
    }

    /// A new order with this number.
    pub fn create(&mut self, number: u64) -> Entry {
        let (user, strategy) = (UserId(self.below(2) as u8), StrategyId(self.below(3) as u8));
        let order = ClientOrderId::of(user, strategy, number);
        let terms = self.terms();
        self.orders.push((terms, RequestId::create(order), 0));
        self.owners.push(Owner::of(order));
        Entry::Create { order, tag: number as u32, terms }
    }

    fn forget(&mut self, at: usize) {
        self.orders.swap_remove(at);
        self.owners.swap_remove(at);
    }

    fn fill(&mut self, at: usize) -> Fill {
        let (terms, request, _) = self.orders[at];
        self.execution += 1;
        let bust = self.below(20) == 0;
        let lots = 1 + self.below(8) as i64;
        let named = self.below(9) != 0;
        let name = format!("execution-of-a-venue-with-long-names-{}", self.execution);
        Fill {
            order: request.order,
            owner: self.owners[at],
            instrument: terms.instrument,
            account: terms.account,
            side: terms.side,
            price: terms.price,
            lots: Lots(if bust { -lots } else { lots }),
            exec_id: if named { VenueId::new(name.as_bytes()) } else { VenueId::NONE },
            fee: Amount(self.below(3) as i128 - 1),
            is_inverse: terms.instrument.0 % 2 == 1,
        }
    }

    pub fn next(&mut self) -> Entry {
        self.numbers += 1;
        if self.orders.len() < 4 || self.orders.len() < 40 && self.below(4) == 0 {
            return self.create(self.numbers);
        }
        let at = self.below(self.orders.len() as u64) as usize;
        let (_, request, _) = self.orders[at];
        let order = request.order;
        let version = self.below(u64::from(request.version) + 1) as u16;
        let answered = RequestId { order, version };
        let (price, lots) = (Price(self.below(2_000) as i64), Lots(self.below(25) as i64));
        match self.below(19) {
            0 | 1 => {
                self.orders[at].1.version += 1;
                Entry::Modify { request: self.orders[at].1, price, lots }
            }
            2 => {
                self.orders[at].1.version += 1;
                Entry::Cancel { request: self.orders[at].1 }
            }
            3 | 4 => Entry::Acknowledged { request: answered, venue_id: VenueId::new(b"V7") },
            5 | 6 => Entry::Replaced { request: answered, price, lots },
            7..=11 => Entry::Filled(self.fill(at)),
            12 => {
                self.forget(at);
                Entry::Cancelled { request: answered }
            }
            13 => {
                if self.below(3) == 0 {
                    self.forget(at);
                    return Entry::Expired { order };
                }
                Entry::Rejected { request: answered, reason: 9 }
            }
            14 => Entry::KillSwitch { word: self.below(5), is_latched: self.below(2) == 0 },
            15 => Entry::Day(self.below(3) as u32),
            18 => {
                let (user, strategy) = (UserId(self.below(3) as u8), StrategyId(255));
                self.owners[at] = Owner { user, strategy };
                Entry::HandedOver { order, to: self.owners[at] }
            }
            what => {
                let key = PositionKey {
                    user: order.user(),
                    strategy: order.strategy(),
                    account: AccountId(0),
                    instrument: InstrumentId(self.below(5) as u32),
                };
                let lots = self.below(100) as i64 - 50;
                let cost = i128::from(lots) * (1 << 70);
                let position = Position::from_numbers([lots, 50, 9], [cost, 1 << 66, -7]);
                match what {
                    16 => Entry::Rolled(key, position, Amount((1 << 65) - cost)),
                    _ => Entry::Position(key, position),
                }
            }
        }
    }
}

/// The order that an entry is about.
fn order_of(entry: &Entry) -> Option<ClientOrderId> {
    match *entry {
        Entry::Create { order, .. }
        | Entry::Expired { order }
        | Entry::HandedOver { order, .. } => Some(order),
        Entry::Modify { request, .. }
        | Entry::Cancel { request }
        | Entry::Acknowledged { request, .. }
        | Entry::Replaced { request, .. }
        | Entry::Cancelled { request }
        | Entry::Rejected { request, .. } => Some(request.order),
        Entry::Filled(fill) => Some(fill.order),
        _ => None,
    }
}

/// One order's life out of its own entries alone; nothing when it is over.
fn live(entries: &[Entry]) -> Option<OpenOrder> {
    let (mut open, mut is_over) = (None::<OpenOrder>, false);
    for entry in entries {
        if let Entry::Create { order, tag, terms } = *entry {
            let order = OrderRecord {
                order,
                tag,
                terms,
                version_sent: 1,
                version_accepted: 0,
                lots_filled: Lots(0),
                worth: 0,
                venue_id: VenueId::NONE,
            };
            (open, is_over) = (Some(OpenOrder::new(order)), false);
            continue;
        }
        let Some(it) = open.as_mut().filter(|_| !is_over) else { continue };
        match *entry {
            Entry::Modify { request, price, lots } => {
                it.order.version_sent = it.order.version_sent.max(request.version);
                let asked = Asked::Modify { price, lots };
                it.unanswered.push(Unanswered { version: request.version, asked });
            }
            Entry::Cancel { request } => {
                it.order.version_sent = it.order.version_sent.max(request.version);
                let asked = Asked::Cancel;
                it.unanswered.push(Unanswered { version: request.version, asked });
            }
            Entry::Acknowledged { request, venue_id } => {
                it.order.version_accepted = it.order.version_accepted.max(request.version);
                it.order.venue_id = venue_id;
            }
            Entry::Replaced { request, price, lots } => {
                it.order.version_accepted = it.order.version_accepted.max(request.version);
                it.order.terms = OrderTerms { price, lots, ..it.order.terms };
                it.unanswered.retain(|asked| asked.version != request.version);
            }
            Entry::Rejected { request, .. } if request.version > 1 => {
                it.unanswered.retain(|asked| asked.version != request.version);
            }
            Entry::HandedOver { to, .. } => it.owner = to,
            Entry::Filled(fill) => {
                it.order.lots_filled.0 += fill.lots.0;
                it.order.worth += i128::from(fill.lots.0) * i128::from(fill.price.0);
            }
            _ => is_over = true,
        }
        // What any request under way could make of it.
        let mut sizes = vec![it.order.terms.lots.0];
        for asked in &it.unanswered {
            if let Asked::Modify { lots, .. } = asked.asked {
                sizes.push(lots.0);
            }
        }
        is_over |= sizes.iter().all(|size| it.order.lots_filled.0 >= *size);
    }
    open.filter(|_| !is_over)
}

/// Holds a state against what these entries come to, and shows no more than the first difference.
#[track_caller]
pub fn assert_same(state: &State, entries: &[Entry]) {
    assert_same_orders(state, entries);
    let slow = fold(entries);
    assert_eq!((state.as_of, state.unknown), (slow.as_of, slow.unknown));
}

/// The same where there are other entries, too.
pub fn assert_same_orders(state: &State, entries: &[Entry]) {
    let slow = fold(entries);
    let ids = state.orders.keys().chain(slow.orders.keys());
    for id in ids {
        assert_eq!(state.orders.get(id), slow.orders.get(id), "order {id:?}");
    }
    for key in state.positions.keys().chain(slow.positions.keys()) {
        assert_eq!(state.positions.get(key), slow.positions.get(key), "{key:?}");
    }
    assert_eq!((&state.highest, &state.killed), (&slow.highest, &slow.killed));
    assert_eq!(state.executions, slow.executions);
}

/// What entries come to: each question is asked of all of them.
pub fn fold(entries: &[Entry]) -> State {
    let mut by_order = BTreeMap::<ClientOrderId, Vec<Entry>>::new();
    for entry in entries {
        if let Some(order) = order_of(entry) {
            by_order.entry(order).or_default().push(*entry);
        }
    }
    let orders = by_order.iter().filter_map(|(id, life)| Some((*id, live(life)?))).collect();
    let mut positions = BTreeMap::<PositionKey, Position>::new();
    let mut earned_before = BTreeMap::new();
    for entry in entries {
        match entry {
            Entry::Filled(fill) => {
                let Fill { side, lots, price, fee, is_inverse, .. } = *fill;
                let lot_value = if is_inverse { -1_000_000_000 } else { 1_000_000_000 };
                let fee = if lots < Lots::ZERO { Amount::ZERO - fee } else { fee };
                let trade = Trade { side, lots, price, fee };
                positions.entry(fill.key()).or_default().count(&trade, lot_value);
            }
            Entry::Position(key, position) => {
                positions.insert(*key, *position);
            }
            Entry::Rolled(key, position, earned) => {
                positions.insert(*key, *position);
                earned_before.insert(*key, *earned);
            }
            _ => {}
        }
    }
    let mut highest = BTreeMap::new();
    for entry in entries {
        if let Entry::Create { order, .. } = entry {
            let owner = (order.0 >> 48) as u16;
            let most = highest.entry(owner).or_insert(*order);
            *most = (*most).max(*order);
        }
    }
    let words: BTreeSet<u64> = (0..5).collect();
    let last = |word: &u64| {
        entries.iter().rev().find_map(|entry| match entry {
            Entry::KillSwitch { word: said, is_latched } if said == word => Some(*is_latched),
            _ => None,
        })
    };
    let killed = words.into_iter().filter(|word| last(word) == Some(true)).collect();
    let mut executions: Vec<Fill> = Vec::new();
    for entry in entries {
        match entry {
            // The fee is in the position.
            Entry::Filled(fill) if !fill.exec_id.as_bytes().is_empty() => {
                executions.push(Fill { fee: Amount::ZERO, ..*fill });
            }
            _ => {}
        }
    }
    let from = executions.len().saturating_sub(small().executions_max);
    let executions = executions.split_off(from).into();
    let as_of = entries.len() as u64;
    let day = entries.iter().rev().find_map(|entry| match entry {
        Entry::Day(day) => Some(*day),
        _ => None,
    });
    let day = day.unwrap_or(0);
    State { orders, positions, earned_before, day, highest, killed, executions, as_of, unknown: 0 }
}
