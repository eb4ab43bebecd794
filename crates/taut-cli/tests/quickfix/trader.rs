//! A strategy that does what the test tells it to, attached to the gateway from the test's process.

use std::path::Path;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;

use taut_gateway::{OrderUpdate, Strategy, Trading, UpdateKind};
use taut_market_data::Event;
use taut_runner::service::Attach;
use taut_testkit::DEADLINE;
use taut_types::{ClientOrderId, InstrumentId, Lots, Nanos, OrderTerms, Price, Side};

const INSTRUMENT: InstrumentId = InstrumentId(0);

enum Action {
    Create(Side, Lots),
    Modify(ClientOrderId, Price, Lots),
    Cancel(ClientOrderId),
}

struct Scripted {
    actions: Receiver<Action>,
    created: Sender<(ClientOrderId, Price)>,
    updates: Sender<OrderUpdate>,
}

impl Strategy for Scripted {
    fn on_market(&mut self, _: Nanos, _: &Event, _: &mut impl Trading) {}

    fn on_order(&mut self, _: Nanos, update: &OrderUpdate, _: &mut impl Trading) {
        let _ = self.updates.send(*update);
    }

    fn on_timer(&mut self, _: Nanos, trading: &mut impl Trading) {
        let best = |side| Some(trading.book(INSTRUMENT)?.best(side)?.price);
        // Until the book is told.
        let (Some(bid), Some(ask)) = (best(Side::Buy), best(Side::Sell)) else { return };
        for action in self.actions.try_iter() {
            match action {
                Action::Create(side, lots) => {
                    let price = if side == Side::Buy { bid } else { ask };
                    let terms = OrderTerms::limit(INSTRUMENT, side, price, lots);
                    let id = trading.create(&terms).expect("room for a request");
                    let _ = self.created.send((id, price));
                }
                Action::Modify(id, price, lots) => assert!(trading.modify(id, price, lots)),
                Action::Cancel(id) => assert!(trading.cancel(id)),
            }
        }
    }
}

/// The test's end of it.
pub struct Trader {
    actions: Sender<Action>,
    created: Receiver<(ClientOrderId, Price)>,
    updates: Receiver<OrderUpdate>,
    seen: Vec<OrderUpdate>,
}

impl Trader {
    /// Attaches; it goes on until the gateway ends.
    pub fn attach(control: &Path, name: &str) -> Self {
        let (actions, todo) = mpsc::channel();
        let (created, ids) = mpsc::channel();
        let (updates, told) = mpsc::channel();
        let mut attach = Attach::new(control.to_str().expect("a path"), name);
        attach.waits = false;
        let scripted = Scripted { actions: todo, created, updates };
        thread::spawn(move || attach.run(|_| scripted, |_| {}));
        Self { actions, created: ids, updates: told, seen: Vec::new() }
    }

    /// Orders at the best price of its own side.
    pub fn create(&self, side: Side, lots: i64) -> (ClientOrderId, Price) {
        self.act(Action::Create(side, Lots(lots)));
        self.created.recv_timeout(DEADLINE).expect("the strategy creates an order")
    }

    pub fn modify(&self, id: ClientOrderId, price: Price, lots: i64) {
        self.act(Action::Modify(id, price, Lots(lots)));
    }

    pub fn cancel(&self, id: ClientOrderId) {
        self.act(Action::Cancel(id));
    }

    fn act(&self, action: Action) {
        self.actions.send(action).expect("a strategy that is attached");
    }

    /// Waits for an update of an order that is as wanted.
    #[track_caller]
    pub fn until(
        &mut self,
        what: &str,
        id: ClientOrderId,
        fits: impl Fn(&OrderUpdate) -> bool,
    ) -> OrderUpdate {
        if let Some(update) = self.told(id).find(|update| fits(update)) {
            return *update;
        }
        loop {
            match self.updates.recv_timeout(DEADLINE) {
                Ok(update) => {
                    self.seen.push(update);
                    if update.id == id && fits(&update) {
                        return update;
                    }
                }
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                    panic!("{what} did not happen: {:#?}", self.told(id).collect::<Vec<_>>());
                }
            }
        }
    }

    /// Waits for the end of an order; returns how much of it has traded.
    #[track_caller]
    pub fn until_done(&mut self, what: &str, id: ClientOrderId) -> i64 {
        self.until(what, id, |update| update.state.is_done()).lots_filled.0
    }

    #[track_caller]
    pub fn until_kind(&mut self, what: &str, id: ClientOrderId, kind: UpdateKind) {
        self.until(what, id, |update| update.kind == kind);
    }

    /// What was told of an order.
    pub fn told(&self, id: ClientOrderId) -> impl Iterator<Item = &OrderUpdate> {
        self.seen.iter().filter(move |update| update.id == id)
    }
}
