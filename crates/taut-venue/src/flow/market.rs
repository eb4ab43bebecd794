//! The levels of a book elsewhere as orders of the venue's engine.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::fmt::Write as _;

use taut_engine::{Command, NewOrder};
use taut_types::{
    DECIMAL_BYTES_MAX, HalfTicks, Instrument, Lots, OrderId, Price, Side, format_decimal,
};

/// The account of the orders.
pub(super) const OWNER: u32 = 0;

pub(super) type Key = (Side, HalfTicks);

/// The levels as they shall be and as they are.
#[derive(Clone, Debug)]
pub(super) struct Market {
    instrument: Instrument,
    /// Bids and asks.
    pub(super) levels: [BTreeMap<HalfTicks, Level>; 2],
    /// Where an order stands.
    pub(super) places: HashMap<OrderId, Key>,
    /// Levels that are not what they shall be.
    pub(super) behind: VecDeque<Key>,
    pub(super) next_order: u64,
    /// The last update that the levels contain.
    pub(super) last_id: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Level {
    pub(super) target: Lots,
    /// The order that stands there, and what is left of it.
    pub(super) order: Option<(OrderId, Lots)>,
}

impl Market {
    pub(super) fn new(instrument: Instrument) -> Self {
        Self {
            instrument,
            levels: [BTreeMap::new(), BTreeMap::new()],
            places: HashMap::new(),
            behind: VecDeque::new(),
            next_order: 1,
            last_id: 0,
        }
    }

    /// The market begins with these levels: an order for each, which rests already.
    pub(super) fn begin(&mut self, levels: &[(Key, Lots)]) -> Vec<NewOrder> {
        let mut orders = Vec::with_capacity(levels.len());
        for &(key, target) in levels {
            let (side, price) = key;
            let order_id = OrderId(self.next_order);
            self.next_order += 1;
            self.places.insert(order_id, key);
            let order = Some((order_id, target));
            self.side_mut(side).insert(price, Level { target, order });
            orders.push(NewOrder::limit(order_id, OWNER, side, price, target));
        }
        orders
    }

    /// Every level is to go, unless it is set again.
    pub(super) fn clear(&mut self) {
        for side in Side::BOTH {
            let levels = self.side_mut(side);
            levels.values_mut().for_each(|level| level.target = Lots::ZERO);
            let keys: Vec<_> = levels.keys().map(|price| (side, *price)).collect();
            self.behind.extend(keys);
        }
    }

    /// A level shall have this total; the next command on the way there.
    pub(super) fn set(&mut self, key: Key, lots: Lots) -> Option<Command> {
        let (side, price) = key;
        self.side_mut(side).entry(price).or_default().target = lots;
        self.command(key)
    }

    /// The next command on the way to what a level shall be; nothing when it is there. A level that
    /// grows loses its place: its order is cancelled and entered anew.
    pub(super) fn command(&mut self, key: Key) -> Option<Command> {
        let (side, price) = key;
        let next_order = self.next_order;
        let levels = self.side_mut(side);
        let level = levels.get_mut(&price)?;
        let target = level.target;
        match level.order {
            None if target <= Lots::ZERO => {
                levels.remove(&price);
                None
            }
            None => {
                let order_id = OrderId(next_order);
                level.order = Some((order_id, target));
                self.next_order += 1;
                self.places.insert(order_id, key);
                Some(Command::New(NewOrder::limit(order_id, OWNER, side, price, target)))
            }
            Some((_, lots)) if lots == target => None,
            Some((order_id, lots)) if target > Lots::ZERO && target < lots => {
                level.order = Some((order_id, target));
                Some(Command::Reduce { order_id, by: Lots(lots.0 - target.0) })
            }
            Some((order_id, _)) => {
                level.order = None;
                if target > Lots::ZERO {
                    self.behind.push_front(key);
                } else {
                    levels.remove(&price);
                }
                self.places.remove(&order_id);
                Some(Command::Cancel { order_id })
            }
        }
    }

    pub(super) fn on_fill(&mut self, order_id: OrderId, remaining: Lots) {
        let Some(&key) = self.places.get(&order_id) else { return };
        if let Some(level) = self.side_mut(key.0).get_mut(&key.1) {
            level.order = (remaining > Lots::ZERO).then_some((order_id, remaining));
        }
        if remaining <= Lots::ZERO {
            self.places.remove(&order_id);
        }
        self.behind.push_back(key);
    }

    /// An order was refused: its level is empty until it is set again.
    pub(super) fn on_refusal(&mut self, order_id: OrderId) {
        let Some((side, price)) = self.places.remove(&order_id) else { return };
        if let Some(level) = self.side_mut(side).get_mut(&price) {
            level.order = None;
        }
    }

    pub(super) fn snapshot(&self, head: &str, tail: &str) -> String {
        let mut text = format!("{head}{{\"lastUpdateId\":{}", self.last_id);
        // Best first: bids fall, asks rise.
        self.side(&mut text, "bids", self.of(Side::Buy).rev());
        self.side(&mut text, "asks", self.of(Side::Sell));
        text.push('}');
        text.push_str(tail);
        text
    }

    fn of(&self, side: Side) -> impl DoubleEndedIterator<Item = (HalfTicks, Lots)> {
        let [bids, asks] = &self.levels;
        let levels = if side == Side::Buy { bids } else { asks };
        levels.iter().map(|(&price, level)| (price, level.target))
    }

    pub(super) const fn side_mut(&mut self, side: Side) -> &mut BTreeMap<HalfTicks, Level> {
        let [bids, asks] = &mut self.levels;
        match side {
            Side::Buy => bids,
            Side::Sell => asks,
        }
    }

    fn side(&self, text: &mut String, name: &str, levels: impl Iterator<Item = (HalfTicks, Lots)>) {
        let _ = write!(text, ",\"{name}\":[");
        let mut comma = "";
        let lot = self.instrument.lot();
        for (price, lots) in levels.filter(|(_, lots)| *lots > Lots::ZERO) {
            // Both came from prices and sizes that fit.
            let price = self.instrument.price(price).unwrap_or(Price(0));
            let mantissa = lots.0.saturating_mul(lot.mantissa);
            let mut digits = [0; DECIMAL_BYTES_MAX];
            let length = format_decimal(mantissa, lot.decimals, &mut digits);
            let size = digits.get(..length).and_then(|size| std::str::from_utf8(size).ok());
            let _ = write!(text, "{comma}[\"{price}\",\"{}\"]", size.unwrap_or("0"));
            comma = ",";
        }
        text.push(']');
    }
}
