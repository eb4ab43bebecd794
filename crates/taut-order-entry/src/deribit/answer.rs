//! What the venue says of requests and orders.
//!
//! A frame is taken apart by [`read_message`](taut_market_data::deribit::read_message). What an
//! answer's body is, the request says whose id it has; what is told without having been asked for
//! comes from the channel `user.changes`.
//!
//! Fields come and go: what is absent, null, or cannot be held exactly is nothing, and only what
//! names an order must be there. Texts are as they stand in the frame, escapes included.

use taut_market_data::scan::Scanner;
use taut_market_data::{Expected, MarketDataError};
use taut_types::{Price, Qty, Side};

use super::code::ErrorAnswer;
use super::secret::Secret;
use super::steps::TickSteps;

/// Decimal places of amounts and fees.
const DECIMALS: u8 = 8;
const FEE_DECIMALS: u8 = 12;

/// Where an order is in its life.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OrderState {
    /// It rests.
    Open,
    /// All of it traded.
    Filled,
    /// The venue refused it.
    Rejected,
    /// It was cancelled: by whom says the reason.
    Cancelled,
    /// It waits for its trigger.
    Untriggered,
    /// Its trigger has come; another order stands for it.
    Triggered,
    /// Something that nobody documented.
    #[default]
    Other,
}

/// An order as it is now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Order<'a> {
    /// The venue's name of it.
    pub order_id: &'a [u8],
    /// The client's name of it; empty when it has none.
    pub label: &'a [u8],
    /// The venue's name of the instrument.
    pub instrument: &'a [u8],
    /// Buy or sell.
    pub side: Option<Side>,
    /// Where it is in its life.
    pub state: OrderState,
    /// Nothing for a market order that waits for its trigger.
    pub price: Option<Price>,
    /// All of it: units or coins, as the instrument has it.
    pub amount: Option<Qty>,
    /// What has traded of it; nothing on a fresh stop order.
    pub filled: Option<Qty>,
    /// The average price of that.
    pub average: Option<Price>,
    /// Why it was cancelled; empty when it was not.
    pub cancel_reason: &'a [u8],
    /// Whether it is the result of an edit.
    pub is_replaced: bool,
    /// When it changed last, milliseconds of UTC.
    pub updated_ms: Option<u64>,
}

/// A trade of one's own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fill<'a> {
    /// The venue's name of the order.
    pub order_id: &'a [u8],
    /// The client's name of the order; empty when it has none.
    pub label: &'a [u8],
    /// The venue's name of the instrument.
    pub instrument: &'a [u8],
    /// The venue's name of the trade: two fills with the same one are one.
    pub trade_id: &'a [u8],
    /// The trade's number among those of its instrument.
    pub sequence: Option<u64>,
    /// Buy or sell.
    pub side: Option<Side>,
    /// At what.
    pub price: Option<Price>,
    /// How much.
    pub amount: Option<Qty>,
    /// What it cost; less than nothing when it was rewarded.
    pub fee: Option<Qty>,
    /// In what.
    pub fee_currency: &'a [u8],
    /// Whether the order rested; nothing when it is not said.
    pub is_maker: Option<bool>,
    /// The order as the trade left it.
    pub state: OrderState,
    /// When it happened, milliseconds of UTC.
    pub time_ms: Option<u64>,
}

/// What a step of the matching engine did to the account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change<'a> {
    /// A trade.
    Fill(Fill<'a>),
    /// An order.
    Order(Order<'a>),
}

/// Who one is on a connection, and for how long.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Token<'a> {
    /// For requests over HTTP; a connection needs none.
    pub access: Secret<'a>,
    /// To be authenticated again with.
    pub refresh: Secret<'a>,
    /// Seconds.
    pub expires_in_s: Option<u64>,
    /// What it allows.
    pub scope: &'a [u8],
}

/// The answer to `private/buy`, `sell` and `edit`, or what `user.changes` brings: trades and
/// orders, the trades first. Nothing is told of one that is malformed anywhere.
///
/// # Errors
/// [`MarketDataError::Malformed`] when it is no object of these, or an order or a trade has no
/// name.
pub fn read_changes<'a>(
    body: &'a [u8],
    mut visit: impl FnMut(Change<'a>),
) -> Result<(), MarketDataError> {
    changes(body, |_| ())?;
    changes(body, |change| {
        if let Change::Fill(_) = change {
            visit(change);
        }
    })?;
    changes(body, |change| {
        if let Change::Order(_) = change {
            visit(change);
        }
    })
}

/// The answer to `private/cancel` and `get_order_state`: an order.
///
/// # Errors
/// [`MarketDataError::Malformed`] when it is none.
pub fn read_order(body: &[u8]) -> Result<Order<'_>, MarketDataError> {
    let mut scanner = Scanner::new(body);
    order(&mut scanner).ok_or_else(|| scanner.error())
}

/// The answer to `private/get_open_orders` and its like: orders. Nothing is told of one that is
/// malformed anywhere.
///
/// # Errors
/// [`MarketDataError::Malformed`] when they are none.
pub fn read_orders<'a>(
    body: &'a [u8],
    visit: impl FnMut(Order<'a>),
) -> Result<(), MarketDataError> {
    list(body, order, visit)
}

/// What an account holds of an instrument.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Position<'a> {
    /// The venue's name of the instrument.
    pub instrument: &'a [u8],
    /// How much, without a sign: dollars for inverse futures and perpetuals, coins for all else.
    pub size: Option<Qty>,
    /// Bought or sold; nothing when it holds nothing.
    pub side: Option<Side>,
    /// At which price it was settled last.
    pub settlement_price: Option<Price>,
}

/// The answer to `private/get_positions`. Nothing is told of one that is malformed anywhere.
///
/// # Errors
/// [`MarketDataError::Malformed`] when they are none.
pub fn read_positions<'a>(
    body: &'a [u8],
    visit: impl FnMut(Position<'a>),
) -> Result<(), MarketDataError> {
    list(body, position, visit)
}

/// The answer to `private/cancel_all` and its like: how many orders were cancelled.
///
/// # Errors
/// [`MarketDataError::Malformed`] when it is no number.
pub fn read_count(body: &[u8]) -> Result<u64, MarketDataError> {
    let mut scanner = Scanner::new(body);
    scanner.number().ok_or_else(|| scanner.error())
}

/// Whether the answer to `public/subscribe` or `private/subscribe`, the channels that the venue
/// sends from now on, has this one: it leaves out what it does not know or grant.
#[must_use]
pub fn grants(body: &[u8], channel: &[u8]) -> bool {
    let end = body.iter().position(|byte| *byte == b']').unwrap_or(0);
    let list = body.get(..end).unwrap_or_default();
    list.split(|byte| *byte == b'"').any(|item| item == channel)
}

/// An instrument.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InstrumentAnswer<'a> {
    /// The venue's name of it.
    pub name: &'a [u8],
    /// Its price step, at the lowest prices where it has several.
    pub tick: Option<Price>,
    /// Its price steps at higher prices.
    pub steps: TickSteps,
    /// Its smallest quantity: dollars for inverse futures and perpetuals, coins for all else.
    pub amount_min: Option<Qty>,
    /// How much a contract is.
    pub contract_size: Option<Qty>,
    /// Whether it can be traded.
    pub is_active: bool,
}

/// The answer to `public/get_instrument`.
///
/// # Errors
/// [`MarketDataError::Malformed`] when it is none.
pub fn read_instrument(body: &[u8]) -> Result<InstrumentAnswer<'_>, MarketDataError> {
    let mut instrument = InstrumentAnswer::default();
    let mut scanner = Scanner::new(body);
    let read = scanner.object(|scanner, key| {
        match key {
            b"instrument_name" => instrument.name = text(scanner)?,
            b"tick_size" => instrument.tick = decimal(scanner, Price::DECIMALS)?.map(Price),
            b"tick_size_steps" => instrument.steps = steps(scanner)?,
            b"min_trade_amount" => instrument.amount_min = qty(scanner, DECIMALS)?,
            b"contract_size" => instrument.contract_size = qty(scanner, DECIMALS)?,
            b"is_active" => instrument.is_active = flag(scanner)?,
            _ => scanner.skip_value()?,
        }
        Some(())
    });
    read.map(|()| instrument).ok_or_else(|| scanner.error())
}

/// Nothing when one is malformed, out of order, or there are too many.
fn steps(scanner: &mut Scanner<'_>) -> Option<TickSteps> {
    let mut steps = TickSteps::default();
    scanner.array(|scanner| {
        let (mut from, mut tick) = (None, None);
        scanner.object(|scanner, key| {
            match key {
                b"above_price" => from = decimal(scanner, Price::DECIMALS)?,
                b"tick_size" => tick = decimal(scanner, Price::DECIMALS)?,
                _ => scanner.skip_value()?,
            }
            Some(())
        })?;
        steps.push(Price(from?), Price(tick?)).then_some(())
    })?;
    Some(steps)
}

/// The answer to `public/auth`.
///
/// # Errors
/// [`MarketDataError::Malformed`] when it is none.
pub fn read_token(body: &[u8]) -> Result<Token<'_>, MarketDataError> {
    let mut token = Token::default();
    let mut scanner = Scanner::new(body);
    let read = scanner.object(|scanner, key| {
        match key {
            b"access_token" => token.access = Secret(text(scanner)?),
            b"refresh_token" => token.refresh = Secret(text(scanner)?),
            b"expires_in" => token.expires_in_s = number(scanner)?,
            b"scope" => token.scope = text(scanner)?,
            _ => scanner.skip_value()?,
        }
        Some(())
    });
    read.map(|()| token).ok_or_else(|| scanner.error())
}

/// An error, instead of an answer.
///
/// # Errors
/// [`MarketDataError::Malformed`] when it has no code.
pub fn read_error(body: &[u8]) -> Result<ErrorAnswer<'_>, MarketDataError> {
    let (mut code, mut message): (_, &[u8]) = (None, b"");
    let mut scanner = Scanner::new(body);
    let read = scanner.object(|scanner, key| {
        match key {
            b"code" => code = decimal(scanner, 0)?,
            b"message" => message = text(scanner)?,
            _ => scanner.skip_value()?,
        }
        Some(())
    });
    let expected = Expected::Field("code");
    match (read, code) {
        (None, _) => Err(scanner.error()),
        (_, None) => Err(MarketDataError::Malformed { offset: 0, expected }),
        (_, Some(code)) => Ok(ErrorAnswer { code, message }),
    }
}

/// The items of a list. Nothing is told of one that is malformed anywhere.
fn list<'a, T>(
    body: &'a [u8],
    read: impl Fn(&mut Scanner<'a>) -> Option<T>,
    mut visit: impl FnMut(T),
) -> Result<(), MarketDataError> {
    let all = |visit: &mut dyn FnMut(T)| {
        let mut scanner = Scanner::new(body);
        let told = scanner.array(|scanner| read(scanner).map(&mut *visit));
        told.ok_or_else(|| scanner.error())
    };
    all(&mut |_| ())?;
    all(&mut visit)
}

fn changes<'a>(body: &'a [u8], mut visit: impl FnMut(Change<'a>)) -> Result<(), MarketDataError> {
    let mut scanner = Scanner::new(body);
    let read = scanner.object(|scanner, key| match key {
        b"order" => order(scanner).map(|order| visit(Change::Order(order))),
        b"orders" => {
            scanner.array(|scanner| order(scanner).map(|order| visit(Change::Order(order))))
        }
        b"trades" => scanner.array(|scanner| fill(scanner).map(|fill| visit(Change::Fill(fill)))),
        _ => scanner.skip_value(),
    });
    read.ok_or_else(|| scanner.error())
}

fn position<'a>(scanner: &mut Scanner<'a>) -> Option<Position<'a>> {
    let mut position = Position::default();
    scanner.object(|scanner, key| {
        match key {
            b"instrument_name" => position.instrument = text(scanner)?,
            b"size" => {
                let size = qty(scanner, DECIMALS)?;
                position.size = size
                    .and_then(|size| Some(Qty { mantissa: size.mantissa.checked_abs()?, ..size }));
            }
            b"direction" => position.side = side(text(scanner)?),
            b"settlement_price" => {
                position.settlement_price = decimal(scanner, Price::DECIMALS)?.map(Price);
            }
            _ => scanner.skip_value()?,
        }
        Some(())
    })?;
    if position.instrument.is_empty() {
        return scanner.refuse(Expected::Field("instrument_name"));
    }
    Some(position)
}

fn order<'a>(scanner: &mut Scanner<'a>) -> Option<Order<'a>> {
    let mut order = Order::default();
    scanner.object(|scanner, key| {
        match key {
            b"order_id" => order.order_id = text(scanner)?,
            b"label" => order.label = text(scanner)?,
            b"instrument_name" => order.instrument = text(scanner)?,
            b"direction" => order.side = side(text(scanner)?),
            b"order_state" => order.state = state(text(scanner)?),
            b"price" => order.price = decimal(scanner, Price::DECIMALS)?.map(Price),
            b"amount" => order.amount = qty(scanner, DECIMALS)?,
            b"filled_amount" => order.filled = qty(scanner, DECIMALS)?,
            b"average_price" => order.average = decimal(scanner, Price::DECIMALS)?.map(Price),
            b"cancel_reason" => order.cancel_reason = text(scanner)?,
            b"replaced" => order.is_replaced = flag(scanner)?,
            b"last_update_timestamp" => order.updated_ms = number(scanner)?,
            _ => scanner.skip_value()?,
        }
        Some(())
    })?;
    if order.order_id.is_empty() {
        return scanner.refuse(Expected::Field("order_id"));
    }
    Some(order)
}

fn fill<'a>(scanner: &mut Scanner<'a>) -> Option<Fill<'a>> {
    let mut fill = Fill::default();
    scanner.object(|scanner, key| {
        match key {
            b"order_id" => fill.order_id = text(scanner)?,
            b"label" => fill.label = text(scanner)?,
            b"instrument_name" => fill.instrument = text(scanner)?,
            b"trade_id" => fill.trade_id = text(scanner)?,
            b"trade_seq" => fill.sequence = number(scanner)?,
            b"direction" => fill.side = side(text(scanner)?),
            b"state" => fill.state = state(text(scanner)?),
            b"price" => fill.price = decimal(scanner, Price::DECIMALS)?.map(Price),
            b"amount" => fill.amount = qty(scanner, DECIMALS)?,
            b"fee" => fill.fee = qty(scanner, FEE_DECIMALS)?,
            b"fee_currency" => fill.fee_currency = text(scanner)?,
            b"liquidity" => {
                fill.is_maker = match text(scanner)? {
                    b"M" => Some(true),
                    b"T" => Some(false),
                    _ => None,
                }
            }
            b"timestamp" => fill.time_ms = number(scanner)?,
            _ => scanner.skip_value()?,
        }
        Some(())
    })?;
    if fill.trade_id.is_empty() || fill.order_id.is_empty() {
        return scanner.refuse(Expected::Field("trade_id"));
    }
    Some(fill)
}

/// A text without its quotes; empty for any other value.
fn text<'a>(scanner: &mut Scanner<'a>) -> Option<&'a [u8]> {
    let value = scanner.value()?;
    let inner = value.strip_prefix(b"\"").and_then(|rest| rest.strip_suffix(b"\""));
    Some(inner.unwrap_or_default())
}

/// An integer of zero or more; nothing inside for any other value.
fn number(scanner: &mut Scanner<'_>) -> Option<Option<u64>> {
    let value = scanner.value()?;
    Some(Scanner::new(value).number())
}

/// A number at this scale; nothing inside for any other value, such as `"market_price"`.
fn decimal(scanner: &mut Scanner<'_>, decimals: u8) -> Option<Option<i64>> {
    let value = scanner.value()?;
    Some(Scanner::new(value).decimal(decimals))
}

fn qty(scanner: &mut Scanner<'_>, decimals: u8) -> Option<Option<Qty>> {
    let mantissa = decimal(scanner, decimals)?;
    Some(mantissa.map(|mantissa| Qty { mantissa, decimals }))
}

fn flag(scanner: &mut Scanner<'_>) -> Option<bool> {
    Some(scanner.value()? == b"true")
}

fn side(text: &[u8]) -> Option<Side> {
    match text {
        b"buy" => Some(Side::Buy),
        b"sell" => Some(Side::Sell),
        _ => None,
    }
}

fn state(text: &[u8]) -> OrderState {
    match text {
        b"open" => OrderState::Open,
        b"filled" => OrderState::Filled,
        b"rejected" => OrderState::Rejected,
        b"cancelled" => OrderState::Cancelled,
        b"untriggered" => OrderState::Untriggered,
        b"triggered" => OrderState::Triggered,
        _ => OrderState::Other,
    }
}
