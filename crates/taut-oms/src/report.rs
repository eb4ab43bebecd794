//! What a venue says about an order, and what it came to.

use taut_types::{
    AccountId, ClientOrderId, InstrumentId, Lots, Nanos, Price, Qty, RequestId, Side,
};

use crate::amount::Amount;
use crate::exec_id::ExecId;
use crate::quarantine::Trouble;
use crate::state::{OrderEvent, OrderState};

/// A report of an order of ours, out of whatever the venue speaks. Quantities are as they came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Report {
    /// The request that it answers or, with version 0, the order that it is about.
    pub request: RequestId,
    /// What happened.
    pub event: OrderEvent,
    /// Where the order stands now, says the venue, where it says so.
    pub told: Option<OrderState>,
    /// How much traded, when something did.
    pub last: Qty,
    /// At which price.
    pub price: Option<Price>,
    /// How much has traded in all.
    pub total: Option<Qty>,
    /// The average price of that.
    pub average: Option<Price>,
    /// How large the order is.
    pub order_qty: Option<Qty>,
    /// At which price it works.
    pub order_price: Option<Price>,
    /// The name of the execution.
    pub exec_id: ExecId,
    /// The execution that is cancelled or corrected.
    pub exec_ref: ExecId,
    /// The instrument's lot.
    pub lot: Qty,
    /// Whether the venue says that it may have told this before.
    pub is_resend: bool,
}

impl Report {
    /// An event without quantities.
    #[must_use]
    pub const fn plain(request: RequestId, event: OrderEvent, lot: Qty) -> Self {
        Self {
            request,
            event,
            told: None,
            last: Qty::ZERO,
            price: None,
            total: None,
            average: None,
            order_qty: None,
            order_price: None,
            exec_id: ExecId::NONE,
            exec_ref: ExecId::NONE,
            lot,
            is_resend: false,
        }
    }
}

/// A trade, or what takes one back: the truth about positions is the sum of these.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fill {
    /// Of which order.
    pub order: ClientOrderId,
    /// In which instrument.
    pub instrument: InstrumentId,
    /// For which account.
    pub account: AccountId,
    /// Bought or sold.
    pub side: Side,
    /// At which price.
    pub price: Price,
    /// How much; less than zero takes a trade back.
    pub lots: Lots,
    /// The venue's name of it.
    pub exec_id: ExecId,
    /// Whether it makes good an earlier report, or the want of one.
    pub is_correction: bool,
    /// What it cost besides its price: of a trade that is taken back, what comes back, below
    /// 0. The table of orders knows nothing of it and leaves it 0.
    pub fee: Amount,
}

/// What a request of ours asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum RequestKind {
    /// A new order.
    Create,
    /// Another price or quantity.
    Modify,
    /// The end of the order.
    Cancel,
}

/// A request that a report answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answered {
    /// Which one.
    pub version: u16,
    /// What it asked for.
    pub kind: RequestKind,
    /// When it was sent.
    pub sent_at: Nanos,
}

/// What a report did to its order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// Which order.
    pub id: ClientOrderId,
    /// Buy or sell.
    pub side: Side,
    /// Its state before.
    pub was: OrderState,
    /// Its state now.
    pub state: OrderState,
    /// What may trade of it now.
    pub lots_open: Lots,
    /// What could trade of it before at the worst, with every request granted.
    pub exposure_was: Lots,
    /// What may trade of it now at the worst.
    pub exposure: Lots,
    /// What traded: two when a trade is corrected.
    pub fills: [Option<Fill>; 2],
    /// The request that this answers.
    pub answered: Option<Answered>,
    /// Whether its price or quantity is another now.
    pub is_amended: bool,
    /// Whether the report said nothing new: it came again, or late.
    pub is_old: bool,
    /// What is wrong.
    pub trouble: Option<Trouble>,
    /// Whether the venue should be asked where the order stands.
    pub asks: bool,
}
