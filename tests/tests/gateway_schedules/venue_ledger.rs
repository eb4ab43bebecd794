//! What the venue made of its clients' orders, by what it reports: the truth that the gateway is
//! held against.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use taut_fix::{CompId, ExecType, ExecutionReport, OrdStatus};
use taut_io::Kernel;
use taut_types::{ClientOrderId, Instrument, InstrumentId, Lots, Price, Qty, RequestId, Side};
use taut_venue::Observer;

use crate::log::Log;

/// OrdRejReason (103): the ClOrdID was used before.
const DUPLICATE: u32 = 6;

/// An order as the venue has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VenueOrder {
    pub instrument: InstrumentId,
    pub side: Side,
    pub lots: Lots,
    pub price: Option<Price>,
    pub traded: Lots,
    pub is_open: bool,
    /// The venue that had it was started again and remembers nothing.
    pub is_forgotten: bool,
}

#[derive(Debug)]
pub struct VenueLedger {
    instruments: Vec<Instrument>,
    pub orders: BTreeMap<ClientOrderId, VenueOrder>,
    /// New orders that arrived.
    pub arrived: u64,
    log: Log,
}

/// The ledger, as an observer of the venue.
#[derive(Clone, Debug)]
pub struct Scribe(Rc<RefCell<VenueLedger>>);

impl Scribe {
    pub fn new(instruments: &[Instrument], log: Log) -> Self {
        let (instruments, orders) = (instruments.to_vec(), BTreeMap::new());
        Self(Rc::new(RefCell::new(VenueLedger { instruments, orders, arrived: 0, log })))
    }

    pub fn ledger(&self) -> std::cell::Ref<'_, VenueLedger> {
        self.0.borrow()
    }

    /// The venue is gone, and what it knew.
    pub fn forget(&self) {
        for order in self.0.borrow_mut().orders.values_mut() {
            (order.is_open, order.is_forgotten) = (false, true);
        }
    }
}

impl<K: Kernel> Observer<K> for Scribe {
    fn on_report(&mut self, _client: CompId, report: &ExecutionReport<'_>) {
        self.0.borrow_mut().enter(report);
    }
}

impl VenueLedger {
    fn enter(&mut self, report: &ExecutionReport<'_>) {
        let id = |text: Option<taut_fix::LongText>| {
            text.and_then(|text| RequestId::from_text(text.as_bytes())).map(|it| it.order)
        };
        let id = id(report.cl_ord_id).or_else(|| id(report.orig_cl_ord_id)).expect("a ClOrdID");
        let (exec_type, status) = (report.exec_type, report.ord_status);
        self.log.note(|| {
            let traded = (report.last_qty, report.last_price, report.cum_qty);
            let text = String::from_utf8_lossy(report.text);
            format!("venue: {id:?} {exec_type:?} {status:?} {traded:?} {text}")
        });
        let symbol = report.symbol.expect("a symbol");
        let is_it = |it: &&Instrument| it.symbol().as_bytes() == symbol.as_bytes();
        let instrument = self.instruments.iter().find(is_it);
        let instrument = *instrument.expect("an instrument of the venue");
        let lots = |qty: Qty| instrument.lots(qty).expect("whole lots");
        match exec_type {
            ExecType::New => {
                self.arrived += 1;
                let order = VenueOrder {
                    instrument: instrument.id(),
                    side: report.side,
                    lots: lots(report.order_qty.expect("a quantity")),
                    price: report.price,
                    traded: Lots::ZERO,
                    is_open: true,
                    is_forgotten: false,
                };
                let before = self.orders.insert(id, order);
                assert_eq!(before, None, "{id:?} arrived twice");
                return;
            }
            ExecType::Rejected => {
                assert_ne!(report.ord_rej_reason, Some(DUPLICATE), "{id:?} arrived twice");
                self.arrived += 1;
                return;
            }
            _ => {}
        }
        let order = self.orders.get_mut(&id).expect("an order that arrived");
        assert!(order.is_open, "{id:?} is over at the venue: {report:?}");
        match exec_type {
            ExecType::Trade => {
                order.traded.0 += lots(report.last_qty).0;
                assert!(order.traded <= order.lots, "{id:?}: the venue overfilled it");
                order.is_open = status != OrdStatus::Filled;
            }
            ExecType::Canceled | ExecType::Expired => order.is_open = false,
            ExecType::Replaced => {
                order.lots = lots(report.order_qty.expect("a quantity"));
                order.price = report.price;
            }
            other => panic!("{id:?}: {other:?}"),
        }
        assert_eq!(order.traded, lots(report.cum_qty), "{id:?}: the venue's sum");
    }
}
