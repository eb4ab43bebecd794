//! The last trades of each gateway's market, out of its shared memory.
//!
//! A thread for each gateway that answers reads its market ring often enough to miss little; the
//! gateway does nothing for it.

use std::collections::{HashMap, VecDeque};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender, SyncSender, TryRecvError};
use std::time::Duration;

use serde::Serialize;
use taut_gateway::{MarketRead, MarketReader, Regions};
use taut_market_data::{Event, EventKind};
use taut_runner::service::{ControlClient, InstrumentLine};
use taut_types::{Qty, Side};

use crate::observed::model::{GatewaySeen, Snapshot, State};

/// Trades of a gateway that are kept, of all its instruments.
const TRADES_MAX: usize = 100;
/// How often the ring is read, and how often it is asked whether the gateway is there.
const PAUSE: Duration = Duration::from_millis(50);
const READS_BETWEEN_QUESTIONS: u32 = 20;
/// What a thread may be ahead of who reads it: beyond that trades are counted and not told.
const BATCHES_MAX: usize = 64;

/// A trade.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TradeSeen {
    /// How many the gateway's market had before it, as far as they were seen.
    pub number: u64,
    /// When it was received, in ns of UTC since 1970.
    pub at_ns: i64,
    pub symbol: String,
    pub price: String,
    pub quantity: String,
    /// `buy`, `sell`, or nothing where the venue does not say who took.
    pub aggressor: &'static str,
}

/// The tapes of all gateways.
#[derive(Debug, Default)]
pub struct Tapes {
    followed: HashMap<String, Tape>,
}

#[derive(Debug)]
struct Tape {
    /// The gateway's process: one of the same name that begins again is another.
    process: u32,
    trades: Receiver<Vec<TradeSeen>>,
    /// Its thread ends when this is dropped.
    _stop: Sender<()>,
    latest: VecDeque<TradeSeen>,
    /// Its thread has ended: the gateway did not answer, or has let go of it.
    is_over: bool,
}

impl Tapes {
    /// Takes what was traded since, and follows those gateways that are up.
    pub fn read(&mut self, seen: &Snapshot) {
        self.followed.retain(|name, tape| {
            let found = seen.gateways.iter().find(|it| it.name == *name);
            let is_same = |it: &GatewaySeen| it.process == tape.process && it.state != State::Ended;
            !tape.is_over && found.is_some_and(is_same)
        });
        for gateway in seen.gateways.iter().filter(|it| it.state == State::Up) {
            if !self.followed.contains_key(&gateway.name)
                && let Some(tape) = Tape::follow(&gateway.name, gateway.process)
            {
                self.followed.insert(gateway.name.clone(), tape);
            }
        }
        self.followed.values_mut().for_each(Tape::take);
    }

    /// The last trades of each gateway, the latest last.
    pub fn latest(&self) -> HashMap<&str, &VecDeque<TradeSeen>> {
        self.followed.iter().map(|(name, tape)| (name.as_str(), &tape.latest)).collect()
    }
}

impl Tape {
    fn follow(name: &str, process: u32) -> Option<Self> {
        let (sender, trades) = mpsc::sync_channel(BATCHES_MAX);
        let (_stop, stopped) = mpsc::channel();
        let gateway = name.to_owned();
        let read = move || {
            // A gateway that has ended is told of elsewhere.
            let _ = read_all(&gateway, &sender, &stopped);
        };
        let thread = std::thread::Builder::new().name("taut-desk-tape".to_owned());
        thread.spawn(read).ok()?;
        Some(Self { process, trades, _stop, latest: VecDeque::new(), is_over: false })
    }

    fn take(&mut self) {
        let why = loop {
            match self.trades.try_recv() {
                Ok(trades) => self.latest.extend(trades),
                Err(ended) => break ended,
            }
        };
        self.is_over = why == TryRecvError::Disconnected;
        let old = self.latest.len().saturating_sub(TRADES_MAX);
        self.latest.drain(..old);
    }
}

/// Reads until somebody ends: the gateway, or who wants to know.
fn read_all(
    gateway: &str,
    sender: &SyncSender<Vec<TradeSeen>>,
    stopped: &Receiver<()>,
) -> Result<(), Box<dyn std::error::Error>> {
    let mut client = ControlClient::connect(gateway)?;
    let (segment, instruments) = client.observe()?;
    let instruments: Vec<_> = instruments.into_iter().map(Traded::of).collect();
    let regions = Regions::of(&segment)?;
    let mut reader = MarketReader::new(&regions)?;
    let (mut number, mut reads) = (0, 0);
    while stopped.recv_timeout(PAUSE) == Err(RecvTimeoutError::Timeout) {
        reads += 1;
        if reads % READS_BETWEEN_QUESTIONS == 0 && client.is_gone() {
            break;
        }
        let mut trades = VecDeque::new();
        loop {
            match reader.poll() {
                MarketRead::Nothing => break,
                MarketRead::Event(event) => {
                    let Some(mut trade) = seen(&instruments, &event) else { continue };
                    trade.number = number;
                    number += 1;
                    if trades.len() == TRADES_MAX {
                        trades.pop_front();
                    }
                    trades.push_back(trade);
                }
                MarketRead::Lost(_) | MarketRead::Other => {}
            }
        }
        if !trades.is_empty() {
            // Full: who reads is behind, and what is lost is old.
            let _ = sender.try_send(trades.into());
        }
    }
    Ok(())
}

/// An instrument, as far as a trade needs it.
#[derive(Debug)]
struct Traded {
    symbol: String,
    lot: Qty,
}

impl Traded {
    fn of(line: InstrumentLine) -> Self {
        let lot = Qty::parse(line.lot.as_bytes()).unwrap_or(Qty::whole(1));
        Self { symbol: line.symbol, lot }
    }
}

fn seen(instruments: &[Traded], event: &Event) -> Option<TradeSeen> {
    let EventKind::Trade(trade) = event.kind else { return None };
    let Traded { symbol, lot } = instruments.get(event.instrument.0 as usize)?;
    let mantissa = lot.mantissa.checked_mul(trade.lots.0);
    let quantity = mantissa.map(|mantissa| Qty { mantissa, ..*lot }.to_string());
    Some(TradeSeen {
        number: 0,
        at_ns: taut_sys::utc().0,
        symbol: symbol.clone(),
        price: trade.price.to_string(),
        quantity: quantity.unwrap_or_else(|| format!("{} lots", trade.lots.0)),
        aggressor: match trade.aggressor {
            Some(Side::Buy) => "buy",
            Some(Side::Sell) => "sell",
            None => "",
        },
    })
}

#[cfg(test)]
mod tests {
    use taut_market_data::Trade;
    use taut_types::{InstrumentId, Lots, Nanos, OrderId, Price};

    use super::*;

    #[test]
    fn a_trade_is_told_in_decimals_of_its_instrument() {
        let line = |symbol: &str, lot: &str| {
            let (symbol, lot) = (symbol.to_owned(), lot.to_owned());
            Traded::of(InstrumentLine { symbol, lot, ..InstrumentLine::default() })
        };
        let instruments = [line("ONE", "1"), line("TWO", "0.25")];
        let trade = |instrument, lots| Event {
            instrument: InstrumentId(instrument),
            exchange_time: Nanos(1),
            receive_time: Nanos(2),
            kind: EventKind::Trade(Trade {
                trade_id: 1,
                price: Price(1_500_000_000),
                lots: Lots(lots),
                aggressor: Some(Side::Sell),
                resting_order: OrderId(0),
            }),
        };
        let told = seen(&instruments, &trade(1, 3)).expect("a trade");
        assert_eq!(
            (&*told.symbol, &*told.price, &*told.quantity, told.aggressor),
            ("TWO", "1.5", "0.75", "sell")
        );
        assert_eq!(seen(&instruments, &trade(0, 7)).expect("a trade").quantity, "7");
        assert_eq!(seen(&instruments, &trade(2, 1)), None, "an instrument that is none");
    }
}
