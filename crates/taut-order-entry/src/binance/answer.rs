//! What the WebSocket API answers.
//!
//! A frame is taken apart by [`read_frame`]; what an answer's body is, the request says whose id it
//! has. Fields come and go: what is absent, null, or cannot be held exactly is nothing, and only
//! what names an order must be there. Texts are as they stand in the frame, escapes included.

use taut_market_data::scan::Scanner;
use taut_market_data::{Expected, MarketDataError};
use taut_types::{Price, Qty, Side};

use super::code::ErrorAnswer;
use super::values::{decimal, number, price, qty, side, tail, text};

/// A frame of the WebSocket API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frame<'a> {
    /// What happened to the account: the frame from where the event begins.
    Event(&'a [u8]),
    /// An answer to a request.
    Answer(Answer<'a>),
    /// Something else.
    Unknown,
}

/// An answer to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer<'a> {
    /// The request's id as it stands there; `null` when the venue could not read it.
    pub id: &'a [u8],
    /// What HTTP would say; 200 when all went well.
    pub status: u64,
    /// The frame from where the result or the error begins, up to its end.
    pub body: &'a [u8],
    /// Whether it is an error.
    pub is_error: bool,
    /// The frame from where `rateLimits` begins, for
    /// [`read_rate_limits`](super::read_rate_limits); empty without any.
    pub limits: &'a [u8],
}

/// Takes a frame apart.
///
/// # Errors
/// [`MarketDataError::Malformed`] when it is no JSON object.
pub fn read_frame(frame: &[u8]) -> Result<Frame<'_>, MarketDataError> {
    let (mut id, mut event, mut result, mut error) = (None, None, None, None);
    let (mut status, mut limits): (_, &[u8]) = (0, b"");
    let mut scanner = Scanner::new(frame);
    let read = scanner.object(|scanner, key| {
        match key {
            b"id" => id = Some(scanner.value()?),
            b"status" => status = number(scanner)?.unwrap_or(0),
            b"event" => event = Some(tail(scanner)?),
            b"result" => result = Some(tail(scanner)?),
            b"error" => error = Some(tail(scanner)?),
            b"rateLimits" => limits = tail(scanner)?,
            _ => scanner.skip_value()?,
        }
        Some(())
    });
    if read.is_none() || !scanner.is_at_end() {
        return Err(scanner.error());
    }
    Ok(match (event, id, error, result) {
        (Some(event), ..) => Frame::Event(event),
        (None, Some(id), Some(body), _) => {
            Frame::Answer(Answer { id, status, body, is_error: true, limits })
        }
        (None, Some(id), None, Some(body)) => {
            Frame::Answer(Answer { id, status, body, is_error: false, limits })
        }
        _ => Frame::Unknown,
    })
}

/// Where an order is in its life.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OrderStatus {
    /// It rests, or waits for the matching engine.
    New,
    /// Some of it traded.
    PartiallyFilled,
    /// All of it traded.
    Filled,
    /// It was cancelled.
    Canceled,
    /// The venue refused it.
    Rejected,
    /// It ended by its own terms.
    Expired,
    /// It would have traded with one of the same account.
    ExpiredInMatch,
    /// Something that nobody documented, or nothing.
    #[default]
    Other,
}

impl OrderStatus {
    /// The status with this name.
    #[must_use]
    pub fn named(name: &[u8]) -> Self {
        match name {
            b"NEW" | b"PENDING_NEW" => Self::New,
            b"PARTIALLY_FILLED" => Self::PartiallyFilled,
            b"FILLED" => Self::Filled,
            b"CANCELED" => Self::Canceled,
            b"REJECTED" => Self::Rejected,
            b"EXPIRED" => Self::Expired,
            b"EXPIRED_IN_MATCH" => Self::ExpiredInMatch,
            _ => Self::Other,
        }
    }
}

/// An order as an answer has it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Order<'a> {
    /// The venue's number of it, among those of its symbol.
    pub id: u64,
    /// The venue's name of the instrument.
    pub symbol: &'a [u8],
    /// The client's name of it; of a cancel, the cancel's.
    pub name: &'a [u8],
    /// In the answer to a cancel: the order's name.
    pub original_name: &'a [u8],
    /// Buy or sell; nothing in the shortest answers.
    pub side: Option<Side>,
    /// Where it is; nothing in the shortest answers.
    pub status: OrderStatus,
    /// At what.
    pub price: Option<Price>,
    /// All of it.
    pub quantity: Option<Qty>,
    /// What has traded of it.
    pub executed: Option<Qty>,
    /// What that was worth, in the quote asset.
    pub worth: Option<Qty>,
    /// When it changed last, milliseconds of UTC.
    pub time_ms: Option<u64>,
}

/// The answer to `order.place`, `order.cancel` and `order.status`: an order.
///
/// # Errors
/// [`MarketDataError::Malformed`] when it is none.
pub fn read_order(body: &[u8]) -> Result<Order<'_>, MarketDataError> {
    let mut scanner = Scanner::new(body);
    order(&mut scanner).ok_or_else(|| scanner.error())
}

/// The answer to `openOrders.status`: orders. Nothing is told of one that is malformed anywhere.
///
/// # Errors
/// [`MarketDataError::Malformed`] when they are none.
pub fn read_orders<'a>(
    body: &'a [u8],
    mut visit: impl FnMut(Order<'a>),
) -> Result<(), MarketDataError> {
    let all = |visit: &mut dyn FnMut(Order<'a>)| {
        let mut scanner = Scanner::new(body);
        let read = scanner.array(|scanner| order(scanner).map(&mut *visit));
        read.ok_or_else(|| scanner.error())
    };
    all(&mut |_| ())?;
    all(&mut visit)
}

/// The answer to `order.amend.keepPriority`: the order as it is now.
///
/// # Errors
/// [`MarketDataError::Malformed`] when there is none in it.
pub fn read_amended(body: &[u8]) -> Result<Order<'_>, MarketDataError> {
    let mut amended = None;
    let mut scanner = Scanner::new(body);
    let read = scanner.object(|scanner, key| match key {
        b"amendedOrder" => order(scanner).map(|order| amended = Some(order)),
        _ => scanner.skip_value(),
    });
    let expected = Expected::Field("amendedOrder");
    match (read, amended) {
        (None, _) => Err(scanner.error()),
        (_, None) => Err(MarketDataError::Malformed { offset: 0, expected }),
        (_, Some(amended)) => Ok(amended),
    }
}

/// What became of one half of `order.cancelReplace`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Step<'a> {
    /// It was not tried, or nothing is said of it.
    #[default]
    NotAttempted,
    /// It is done.
    Done(Order<'a>),
    /// It is not.
    Failed(ErrorAnswer<'a>),
}

/// What became of `order.cancelReplace`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Replaced<'a> {
    /// The end of the old order.
    pub cancel: Step<'a>,
    /// The beginning of the new one.
    pub place: Step<'a>,
}

/// The answer to `order.cancelReplace`, or the data of the error in its place.
///
/// # Errors
/// [`MarketDataError::Malformed`] when it is neither.
pub fn read_replaced(body: &[u8]) -> Result<Replaced<'_>, MarketDataError> {
    // A word, and where what is said behind it begins.
    let nothing: (&[u8], &[u8]) = (b"", b"");
    let (mut cancel, mut place) = (nothing, nothing);
    let mut scanner = Scanner::new(body);
    let read = scanner.object(|scanner, key| {
        match key {
            b"cancelResult" => cancel.0 = text(scanner)?,
            b"newOrderResult" => place.0 = text(scanner)?,
            b"cancelResponse" => cancel.1 = tail(scanner)?,
            b"newOrderResponse" => place.1 = tail(scanner)?,
            _ => scanner.skip_value()?,
        }
        Some(())
    });
    read.ok_or_else(|| scanner.error())?;
    Ok(Replaced { cancel: step(cancel)?, place: step(place)? })
}

fn step<'a>((result, response): (&[u8], &'a [u8])) -> Result<Step<'a>, MarketDataError> {
    match result {
        b"SUCCESS" => read_order(response).map(Step::Done),
        b"FAILURE" => read_error(200, response).map(Step::Failed),
        _ => Ok(Step::NotAttempted),
    }
}

/// The venue's clock in the answer to `time`, milliseconds of UTC.
///
/// # Errors
/// [`MarketDataError::Malformed`] when it is not there.
pub fn read_server_time(body: &[u8]) -> Result<u64, MarketDataError> {
    let mut time = None;
    let mut scanner = Scanner::new(body);
    let read = scanner.object(|scanner, key| {
        match key {
            b"serverTime" => time = number(scanner)?,
            _ => scanner.skip_value()?,
        }
        Some(())
    });
    let expected = Expected::Field("serverTime");
    read.ok_or_else(|| scanner.error())?;
    time.ok_or(MarketDataError::Malformed { offset: 0, expected })
}

/// An error, instead of an answer with this status.
///
/// # Errors
/// [`MarketDataError::Malformed`] when it has no code.
pub fn read_error(status: u64, body: &[u8]) -> Result<ErrorAnswer<'_>, MarketDataError> {
    let (mut code, mut message, mut data): (_, &[u8], &[u8]) = (None, b"", b"");
    let mut scanner = Scanner::new(body);
    let read = scanner.object(|scanner, key| {
        match key {
            b"code" => code = decimal(scanner, 0)?,
            b"msg" => message = text(scanner)?,
            b"data" => data = tail(scanner)?,
            _ => scanner.skip_value()?,
        }
        Some(())
    });
    let expected = Expected::Field("code");
    match (read, code) {
        (None, _) => Err(scanner.error()),
        (_, None) => Err(MarketDataError::Malformed { offset: 0, expected }),
        (_, Some(code)) => {
            let retry_after_ms = retry_after(data);
            Ok(ErrorAnswer { status, code, message, retry_after_ms, data })
        }
    }
}

fn retry_after(data: &[u8]) -> Option<u64> {
    let mut time = None;
    // Details are of many kinds: most have none.
    let _ = Scanner::new(data).object(|scanner, key| {
        match key {
            b"retryAfter" => time = number(scanner)?,
            _ => scanner.skip_value()?,
        }
        Some(())
    });
    time
}

fn order<'a>(scanner: &mut Scanner<'a>) -> Option<Order<'a>> {
    let mut order = Order::default();
    let mut id = None;
    scanner.object(|scanner, key| {
        match key {
            b"orderId" => id = number(scanner)?,
            b"symbol" => order.symbol = text(scanner)?,
            b"clientOrderId" => order.name = text(scanner)?,
            b"origClientOrderId" => order.original_name = text(scanner)?,
            b"side" => order.side = side(text(scanner)?),
            b"status" => order.status = OrderStatus::named(text(scanner)?),
            b"price" => order.price = price(scanner)?,
            b"origQty" | b"qty" => order.quantity = qty(scanner)?,
            b"executedQty" => order.executed = qty(scanner)?,
            b"cummulativeQuoteQty" | b"cumulativeQuoteQty" => order.worth = qty(scanner)?,
            b"updateTime" | b"transactTime" => order.time_ms = number(scanner)?,
            _ => scanner.skip_value()?,
        }
        Some(())
    })?;
    match id {
        Some(id) => Some(Order { id, ..order }),
        None => scanner.refuse(Expected::Field("orderId")),
    }
}
