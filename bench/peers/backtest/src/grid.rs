//! A grid in whole ticks and lots, over either backtester: it is the referee's first case.

use std::fmt;

const INTERVAL: i64 = 100_000_000;
pub const ENTRY: i64 = 2_000_000;
pub const RESPONSE: i64 = 1_000_000;
pub const LOTS: i64 = 10;
const LEVELS: i64 = 5;
const STEP: i64 = 10;
/// Twice half the spread.
const SPREAD: i64 = 20;
const LOTS_MAX: i64 = 100;

/// An order as its sender knows it.
#[derive(Clone, Copy)]
pub struct Open {
    pub id: u64,
    /// 1 buys, -1 sells.
    pub sign: i64,
    pub tick: i64,
    pub may_be_cancelled: bool,
}

/// What a grid asks of a backtester.
pub trait Backtester {
    /// Goes on by so many nanoseconds; false at the end.
    fn wait(&mut self, nanoseconds: i64) -> bool;
    fn forget_done(&mut self);
    fn best(&self) -> Option<(i64, i64)>;
    /// The position in lots.
    fn position(&self) -> i64;
    fn open(&self, orders: &mut Vec<Open>);
    fn send(&mut self, id: u64, sign: i64, tick: i64);
    fn cancel(&mut self, id: u64);
    fn fills(&self) -> u64;
}

/// What a grid did.
#[derive(Default)]
struct Outcome {
    sent: u64,
    cancelled: u64,
    fills: u64,
    position: i64,
    /// FNV-1a over all requests.
    hash: u64,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { sent, cancelled, fills, position, hash } = self;
        write!(f, "{sent} sent, {cancelled} cancelled, {fills} fills, {position} lots, {hash:016x}")
    }
}

impl Outcome {
    fn note(&mut self, what: [i64; 2]) {
        for number in what {
            self.hash = (self.hash ^ number.cast_unsigned()).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

/// Runs to the end without orders, a second at a time, and tells the best prices then.
pub fn stepped(mut backtester: impl Backtester) -> String {
    while backtester.wait(1_000_000_000) {}
    format!("{:?}", backtester.best())
}

/// Runs the grid to the end, and tells what it did.
pub fn run(mut backtester: impl Backtester) -> String {
    let mut outcome = Outcome { hash: 0xcbf2_9ce4_8422_2325, ..Outcome::default() };
    let mut open = Vec::new();
    while backtester.wait(INTERVAL) {
        backtester.forget_done();
        let Some((bid, ask)) = backtester.best() else { continue };
        let position = backtester.position();
        let middle = bid + ask - position;
        let buy = (middle - SPREAD).div_euclid(2).min(bid).div_euclid(STEP) * STEP;
        let sell = (-(-(middle + SPREAD)).div_euclid(2)).max(ask);
        let sell = -(-sell).div_euclid(STEP) * STEP;
        for (sign, top) in [(1, buy), (-1, sell)] {
            let wanted = if sign * position >= LOTS_MAX { 0 } else { LEVELS };
            let mut has = [false; LEVELS as usize];
            open.clear();
            backtester.open(&mut open);
            open.retain(|order| order.sign == sign);
            open.sort_unstable_by_key(|order| order.id);
            for order in &open {
                let behind = (top - order.tick) * sign;
                if behind >= 0 && behind % STEP == 0 && behind / STEP < wanted {
                    has[(behind / STEP) as usize] = true;
                } else if order.may_be_cancelled {
                    backtester.cancel(order.id);
                    outcome.cancelled += 1;
                    outcome.note([-1, order.id.cast_signed()]);
                }
            }
            for level in (0..wanted).filter(|level| !has[*level as usize]) {
                outcome.sent += 1;
                let tick = top - sign * STEP * level;
                backtester.send(outcome.sent, sign, tick);
                outcome.note([sign, tick]);
            }
        }
    }
    (outcome.fills, outcome.position) = (backtester.fills(), backtester.position());
    outcome.to_string()
}
