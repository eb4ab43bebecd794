//! From rows to commands: the recorded book is rebuilt order by order, and what the recording does
//! not say is inferred on the way.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use taut_book::{Order, OrderBook};
use taut_engine::{Command, NewOrder};
use taut_types::{Lots, Nanos, OrderId, Price, TimeInForce};

use super::event::{FlowEvent, LobsterSummary, TimedEvent};
use super::messages::{DIRECTION, Messages, ORDER_ID, PRICE, Row, RowKind, SIZE};
use super::orderbook::UNIT;
use super::recorded::{ahead_of, better, opposing};
use crate::FileError;

/// A recorded flow, validated and ready to run: the orders before it, its events, and an account of
/// both.
#[derive(Clone, Debug, Default)]
pub struct LobsterFlow {
    initial_orders: Vec<NewOrder>,
    events: Vec<TimedEvent>,
    summary: LobsterSummary,
}

impl LobsterFlow {
    /// The tick: one cent. Only prints stand between two ticks, as midpoint executions do.
    pub const TICK: Price = Price(10_000_000);

    /// Reads and validates a file.
    ///
    /// # Errors
    /// When the file cannot be read or a row is wrong. The error prints as one line that names the
    /// file, the line, the field, the value and what to do.
    pub fn read(path: &Path) -> Result<Self, FileError> {
        Self::of(&Messages::read(path)?)
    }

    /// Validates the text of a file of this name.
    ///
    /// # Errors
    /// When a row is wrong.
    pub fn parse(file: &str, text: &[u8]) -> Result<Self, FileError> {
        Self::of(&Messages::parse(file, text)?)
    }

    /// Turns the rows of a file into a flow.
    ///
    /// # Errors
    /// When rows contradict each other.
    pub fn of(messages: &Messages) -> Result<Self, FileError> {
        let (file, rows) = (messages.file(), messages.rows());
        let known = Known::survey(file, rows)?;
        let mut rebuilder = Rebuilder::new(file, rows, known);
        rebuilder.rest_initial_orders(rows);
        for row in rows {
            rebuilder.row(row)?;
        }
        Ok(rebuilder.finish(rows))
    }

    /// The orders that rest before the first event.
    #[must_use]
    pub fn initial_orders(&self) -> &[NewOrder] {
        &self.initial_orders
    }

    /// The events in order.
    #[must_use]
    pub fn events(&self) -> &[TimedEvent] {
        &self.events
    }

    /// What the file holds.
    #[must_use]
    pub const fn summary(&self) -> &LobsterSummary {
        &self.summary
    }
}

/// What a first reading of the whole file tells about its orders.
struct Known {
    /// The last line that names an order.
    last_line: HashMap<OrderId, usize>,
    /// Orders that are never added, by id: their size is the sum of their rows.
    inferred: BTreeMap<OrderId, Order>,
    id_max: OrderId,
}

impl Known {
    fn survey(file: &str, rows: &[Row]) -> Result<Self, FileError> {
        let mut known = Self {
            last_line: HashMap::new(),
            inferred: BTreeMap::new(),
            id_max: OrderId::default(),
        };
        let mut added = HashMap::new();
        for row in rows {
            let Some(order) = row.order() else { continue };
            known.id_max = known.id_max.max(order.id);
            known.last_line.insert(order.id, row.line);
            if matches!(row.kind, RowKind::Add(_)) {
                let first = added.insert(order.id, row.line);
                let first = first.map(|line| format!("it was added at line {line} before"));
                let seen = known.inferred.contains_key(&order.id);
                let problem = first
                    .or(seen.then(|| "rows above name it already".to_owned()))
                    .map(|p| format!("{p}; an id can be added only once, remove one of the rows"));
                if let Some(problem) = problem {
                    let id = order.id.0;
                    return Err(FileError::field(file, row.line, ORDER_ID, id, problem));
                }
            } else if !added.contains_key(&order.id) {
                let inferred =
                    known.inferred.entry(order.id).or_insert(Order { lots: Lots::ZERO, ..order });
                inferred.lots = Lots(inferred.lots.0.saturating_add(order.lots.0));
            }
        }
        Ok(known)
    }
}

struct Rebuilder<'a> {
    file: &'a str,
    /// It refuses only what the survey has refused already: an id that is added twice.
    book: OrderBook,
    known: Known,
    /// Inferred orders that have not entered yet.
    pending: Vec<Order>,
    next_taker: u64,
    starts_at: Nanos,
    /// The row that is being turned into events.
    now: (Nanos, usize),
    rebuilt: LobsterFlow,
}

impl<'a> Rebuilder<'a> {
    fn new(file: &'a str, rows: &[Row], known: Known) -> Self {
        let rebuilt =
            LobsterFlow { events: Vec::with_capacity(rows.len()), ..LobsterFlow::default() };
        Self {
            file,
            // Each order has a row of its own, and its price may be its own too.
            book: OrderBook::with_capacity(rows.len(), rows.len()),
            pending: known.inferred.values().copied().collect(),
            next_taker: known.id_max.0.saturating_add(1),
            known,
            starts_at: rows.first().map_or(Nanos::ZERO, |row| row.time),
            now: (Nanos::ZERO, 0),
            rebuilt,
        }
    }

    /// Inferred orders with an id below the first addition's were there before.
    fn rest_initial_orders(&mut self, rows: &[Row]) {
        let first_added = rows.iter().find_map(|row| match row.kind {
            RowKind::Add(order) => Some(order.id),
            _ => None,
        });
        for order in self.take_entering(first_added.unwrap_or(OrderId(u64::MAX))) {
            self.rebuilt.initial_orders.push(new_order(order));
        }
    }

    /// Takes the pending orders with an id below `id` into the book, except those that would trade
    /// there: they must have come later.
    fn take_entering(&mut self, id: OrderId) -> Vec<Order> {
        let book = &mut self.book;
        self.pending
            .extract_if(.., |order| {
                let enters = order.id < id && !book.is_met(order.side, order.price);
                if enters {
                    let _ = book.add(*order);
                }
                enters
            })
            .collect()
    }

    fn row(&mut self, row: &Row) -> Result<(), FileError> {
        self.now = (row.time.since(self.starts_at), row.line);
        match row.kind {
            RowKind::Add(order) => {
                self.rebuilt.summary.adds += 1;
                for late in self.take_entering(order.id) {
                    self.rebuilt.summary.late_orders += 1;
                    self.emit_new(late, TimeInForce::GoodTillCancel);
                }
                self.drop_vanished(opposing(&self.book, &order));
                let _ = self.book.add(order);
                self.emit_new(order, TimeInForce::GoodTillCancel);
            }
            RowKind::Reduce(order) => {
                self.rebuilt.summary.reduces += 1;
                self.remove(row, &order)?;
                let (order_id, by) = (order.id, order.lots);
                // Engines refuse to reduce an order to nothing.
                self.emit(if self.book.contains(order_id) {
                    Command::Reduce { order_id, by }
                } else {
                    Command::Cancel { order_id }
                });
            }
            RowKind::Delete(order) => {
                self.rebuilt.summary.cancels += 1;
                self.remove(row, &order)?;
                let _ = self.book.remove(order.id);
                self.emit(Command::Cancel { order_id: order.id });
            }
            RowKind::Execute(order) => {
                self.rebuilt.summary.executions += 1;
                self.admit(order.id);
                self.drop_vanished(better(&self.book, &order));
                self.requeue_before(order.id);
                self.remove(row, &order)?;
                let taker =
                    Order { id: OrderId(self.next_taker), side: order.side.opposite(), ..order };
                self.next_taker = self.next_taker.saturating_add(1);
                self.emit_new(taker, TimeInForce::ImmediateOrCancel);
            }
            RowKind::Print { price, lots, resting_side } => {
                self.rebuilt.summary.prints += 1;
                let aggressor_side = resting_side.opposite();
                self.push(FlowEvent::Print { price, lots, aggressor_side });
            }
            RowKind::Halt => {
                self.rebuilt.summary.halts += 1;
                self.push(FlowEvent::Halt);
            }
        }
        Ok(())
    }

    /// An inferred order that is named now has entered by now.
    fn admit(&mut self, id: OrderId) {
        if let Some(i) = self.pending.iter().position(|order| order.id == id) {
            let order = self.pending.remove(i);
            self.rebuilt.summary.late_orders += 1;
            self.drop_vanished(opposing(&self.book, &order));
            let _ = self.book.add(order);
            self.emit_new(order, TimeInForce::GoodTillCancel);
        }
    }

    /// Takes the row's size off its order, whose price and side the row must repeat.
    fn remove(&mut self, row: &Row, order: &Order) -> Result<(), FileError> {
        self.admit(order.id);
        let wrong = |field, value: String, problem: String| {
            Err(FileError::field(self.file, row.line, field, value, problem))
        };
        let Some(resting) = self.book.order(order.id) else {
            let problem = "the order has left the book in a row above; remove one of the rows";
            return wrong(ORDER_ID, order.id.0.to_string(), problem.to_owned());
        };
        if resting.side != order.side {
            let problem = "the order rests on the other side; make its rows agree";
            return wrong(DIRECTION, order.side.sign().to_string(), problem.to_owned());
        }
        if resting.price != order.price {
            let units = resting.price.0 * UNIT;
            let problem = format!("its order rests at {units}; make its rows agree");
            return wrong(PRICE, (order.price.0 * UNIT).to_string(), problem);
        }
        if resting.lots < order.lots {
            let problem = format!("its order has {} left; make its rows agree", resting.lots.0);
            return wrong(SIZE, order.lots.0.to_string(), problem);
        }
        let _ = self.book.reduce(order.id, order.lots);
        Ok(())
    }

    /// Of these orders, which contradict the row, those that no later row names have left unseen.
    fn drop_vanished(&mut self, orders: Vec<OrderId>) {
        for order_id in orders {
            let last_line = self.known.last_line.get(&order_id).copied().unwrap_or(0);
            if last_line < self.now.1 {
                let _ = self.book.remove(order_id);
                self.rebuilt.summary.vanished += 1;
                self.emit(Command::Cancel { order_id });
            }
        }
    }

    /// Orders that stand before this one, though it has priority, go to the end of the queue.
    fn requeue_before(&mut self, id: OrderId) {
        for order in ahead_of(&self.book, id) {
            let _ = self.book.remove(order.id);
            let _ = self.book.add(order);
            self.rebuilt.summary.requeued += 1;
            self.emit(Command::Cancel { order_id: order.id });
            self.emit_new(order, TimeInForce::GoodTillCancel);
        }
    }

    fn emit_new(&mut self, order: Order, time_in_force: TimeInForce) {
        self.emit(Command::New(new_order(order).force(time_in_force)));
    }

    fn emit(&mut self, command: Command) {
        self.push(FlowEvent::Command(command));
    }

    fn push(&mut self, event: FlowEvent) {
        let (at, line) = self.now;
        self.rebuilt.events.push(TimedEvent { at, line, event });
    }

    fn finish(self, rows: &[Row]) -> LobsterFlow {
        let mut rebuilt = self.rebuilt;
        let last = rows.last().map_or(Nanos::ZERO, |row| row.time);
        rebuilt.summary.rows = rows.len();
        rebuilt.summary.initial_orders = rebuilt.initial_orders.len();
        rebuilt.summary.starts_at = self.starts_at;
        rebuilt.summary.span = last.since(self.starts_at);
        rebuilt
    }
}

const fn new_order(order: Order) -> NewOrder {
    NewOrder::limit(order.id, order.owner, order.side, order.price, order.lots)
}
