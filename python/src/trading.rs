//! What a strategy in Python can do: the gateway's own `Trading`, lent for the time of a call.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use scoped_tls_hkt::{ReborrowMut, scoped_thread_local};
use taut_gateway::OrderFilter;
use taut_types::{
    AccountId, ClientOrderId, InstrumentId, Lots, Nanos, OrderFlags, OrderTerms, Price, Side,
    TimeInForce,
};

use crate::columns::Steps;
use crate::errors::TautError;
use crate::update::OpenOrder;

/// The gateway's, for as long as a strategy is called.
struct Lent<'a>(&'a mut (dyn taut_gateway::Trading + 'a));

impl<'a> ReborrowMut<'a> for Lent<'_> {
    type Result = Lent<'a>;

    fn reborrow_mut(&'a mut self) -> Lent<'a> {
        Lent(self.0)
    }
}

scoped_thread_local!(static mut LENT: for<'a> Lent<'a>);

/// Calls a strategy, to which this is lent meanwhile.
pub fn lend<R>(trading: &mut dyn taut_gateway::Trading, call: impl FnOnce() -> R) -> R {
    LENT.set(Lent(trading), call)
}

/// The best bid and its lots, the best offer and its lots.
type Best = (Option<i64>, Option<i64>, Option<i64>, Option<i64>);

/// What a strategy can do. It works only inside a call of the strategy, in its thread.
#[derive(Debug)]
#[pyclass(frozen, module = "taut")]
pub struct Trading;

fn with<R>(act: impl FnOnce(&mut dyn taut_gateway::Trading) -> R) -> PyResult<R> {
    if !LENT.is_set() {
        return Err(TautError::new_err(
            "trading works only inside a call of the strategy, in the thread that calls it; keep \
             what you want to do, and do it in the next call",
        ));
    }
    Ok(LENT.with(|lent| act(lent.0)))
}

fn side_of(side: i64) -> PyResult<Side> {
    match side {
        1 => Ok(Side::Buy),
        -1 => Ok(Side::Sell),
        other => Err(PyValueError::new_err(format!(
            "side = {other}: must be taut.BUY (1) or taut.SELL (-1)"
        ))),
    }
}

fn terms(
    (instrument, side, price, lots): (u32, i64, Option<i64>, i64),
    time_in_force: &str,
    post_only: bool,
    account: u8,
) -> PyResult<OrderTerms> {
    let (instrument, side, lots) = (InstrumentId(instrument), side_of(side)?, Lots(lots));
    let time_in_force = match (time_in_force, price) {
        ("gtc", None) | ("ioc", _) => TimeInForce::ImmediateOrCancel,
        ("gtc", Some(_)) => TimeInForce::GoodTillCancel,
        ("fok", _) => TimeInForce::FillOrKill,
        ("day", _) => TimeInForce::Day,
        (other, _) => {
            return Err(PyValueError::new_err(format!(
                "time_in_force = {other:?}: must be one of gtc, ioc, fok, day"
            )));
        }
    };
    let of_type = match price {
        Some(price) => OrderTerms::limit(instrument, side, Price(price), lots),
        None => OrderTerms::market(instrument, side, lots),
    };
    let flags = if post_only { OrderFlags::POST_ONLY } else { OrderFlags::NONE };
    Ok(OrderTerms { time_in_force, flags, account: AccountId(account), ..of_type })
}

#[pymethods]
impl Trading {
    /// Asks for a new order; its id, or None when there is no room for the request.
    #[pyo3(signature = (instrument, side, price, lots, *, time_in_force = "gtc",
                        post_only = false, account = 0, tag = 0))]
    #[expect(clippy::too_many_arguments, reason = "they are named in Python")]
    fn create(
        &self,
        instrument: u32,
        side: i64,
        price: Option<i64>,
        lots: i64,
        time_in_force: &str,
        post_only: bool,
        account: u8,
        tag: u32,
    ) -> PyResult<Option<u64>> {
        let terms = terms((instrument, side, price, lots), time_in_force, post_only, account)?;
        with(|trading| trading.create_tagged(&terms, tag).map(|id| id.0))
    }

    /// Asks to give an order another price and another quantity, which counts what has traded;
    /// False when there is no room for the request.
    fn modify(&self, order: u64, price: i64, lots: i64) -> PyResult<bool> {
        with(|trading| trading.modify(ClientOrderId(order), Price(price), Lots(lots)))
    }

    /// Asks to cancel an order; False when there is no room for the request.
    fn cancel(&self, order: u64) -> PyResult<bool> {
        with(|trading| trading.cancel(ClientOrderId(order)))
    }

    /// Asks to cancel all of the strategy's orders, or those of an instrument or a side.
    #[pyo3(signature = (instrument = None, side = None))]
    fn cancel_all(&self, instrument: Option<u32>, side: Option<i64>) -> PyResult<bool> {
        let side = side.map(side_of).transpose()?;
        let instrument = instrument.map(InstrumentId);
        with(|trading| trading.cancel_all(OrderFilter { instrument, side, ..OrderFilter::ALL }))
    }

    /// Has a quote be as these terms say: the id of the order that is it.
    #[pyo3(signature = (quote, instrument, side, price, lots, *, time_in_force = "gtc",
                        post_only = false, account = 0))]
    #[expect(clippy::too_many_arguments, reason = "they are named in Python")]
    fn keep(
        &self,
        quote: Option<u64>,
        instrument: u32,
        side: i64,
        price: i64,
        lots: i64,
        time_in_force: &str,
        post_only: bool,
        account: u8,
    ) -> PyResult<Option<u64>> {
        let asked = (instrument, side, Some(price), lots);
        let terms = terms(asked, time_in_force, post_only, account)?;
        let mut quote = quote.map(ClientOrderId);
        with(|trading| trading.keep(&mut quote, &terms))?;
        Ok(quote.map(|id| id.0))
    }

    /// Has `on_alarm` called with this token once this moment has come; False when 256 others are
    /// set.
    fn set_alarm(&self, at: i64, token: u64) -> PyResult<bool> {
        with(|trading| trading.set_alarm(Nanos(at), token))
    }

    /// Takes an alarm away; whether it was set.
    fn cancel_alarm(&self, token: u64) -> PyResult<bool> {
        with(|trading| trading.cancel_alarm(token))
    }

    /// Every instrument: number, symbol, tick (1e-9), quantity of a lot as mantissa and decimals.
    fn instruments(&self) -> PyResult<Vec<Steps>> {
        with(|trading| {
            let of = |it: &taut_types::Instrument| {
                let lot = it.lot();
                (it.id().0, it.symbol().to_string(), it.tick().0, lot.mantissa, lot.decimals)
            };
            trading.instruments().iter().map(of).collect()
        })
    }

    /// The best levels of a side of a book, best first: pairs of price and lots; None of a book
    /// that is not followed.
    #[pyo3(signature = (instrument, side, count = 1))]
    fn levels(
        &self,
        instrument: u32,
        side: i64,
        count: usize,
    ) -> PyResult<Option<Vec<(i64, i64)>>> {
        let side = side_of(side)?;
        with(|trading| {
            let book = trading.book(InstrumentId(instrument))?;
            let levels = (0..count).map_while(|depth| book.level(side, depth));
            Some(levels.map(|level| (level.price.0, level.lots.0)).collect())
        })
    }

    /// The best bid and its lots, the best offer and its lots; None of a side that is empty, and
    /// of a book that is not followed.
    fn best(&self, instrument: u32) -> PyResult<Best> {
        with(|trading| {
            let book = trading.book(InstrumentId(instrument));
            let best = |side| book.and_then(|book| book.best(side));
            let (bid, ask) = (best(Side::Buy), best(Side::Sell));
            (
                bid.map(|it| it.price.0),
                bid.map(|it| it.lots.0),
                ask.map(|it| it.price.0),
                ask.map(|it| it.lots.0),
            )
        })
    }

    /// An order that is not over.
    fn order(&self, order: u64) -> PyResult<Option<OpenOrder>> {
        with(|trading| trading.order(ClientOrderId(order)).as_ref().map(OpenOrder::of))
    }

    /// All orders that are not over. Cost: linear in the orders that there may be.
    fn orders(&self) -> PyResult<Vec<OpenOrder>> {
        with(|trading| {
            let mut all = Vec::new();
            trading.visit_orders(&mut |order| all.push(OpenOrder::of(order)));
            all
        })
    }

    /// Lots bought less sold.
    #[pyo3(signature = (instrument, account = 0))]
    fn position(&self, instrument: u32, account: u8) -> PyResult<i64> {
        with(|trading| trading.position(InstrumentId(instrument), AccountId(account)).lots.0)
    }

    /// Whether orders in an instrument can be sent.
    fn is_order_entry_up(&self, instrument: u32) -> PyResult<bool> {
        with(|trading| trading.is_order_entry_up(InstrumentId(instrument)))
    }
}
