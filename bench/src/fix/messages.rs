//! Orders and reports of a fixed size, thousands of different ones.

use taut_fix::{
    BeginString, CompId, Dictionaries, Extras, FieldIndex, FixError, MemoryStore, Now, PriceText,
    Role, Session, SessionConfig, SimdLevel, Store, Writer,
};
use taut_types::{Nanos, Price};

use taut_report::Failure;

/// How many messages of each kind are cycled.
pub const DISTINCT: usize = 4096;
/// A Tuesday in 2026; the benchmark's UTC starts here.
pub const START_UTC: Nanos = Nanos(1_789_000_000_123_000_000);

/// What an order says: 16 fields, about 174 bytes with the header.
#[derive(Clone, Copy, Debug)]
pub struct Order {
    id: u64,
    is_buy: bool,
    qty: u64,
    price: Price,
    utc: Nanos,
}

impl Order {
    /// The order with this number.
    pub fn numbered(number: u64) -> Self {
        Self {
            id: 1_000_000_000 + number * 7919 % 999_999_937,
            is_buy: number.is_multiple_of(2),
            qty: 100 + number * 37 % 900,
            price: Price(100_000_000_000 + (number * 131 % 9_973) as i64 * 10_000_000 + 10_000_000),
            utc: START_UTC + Nanos((number % 1000) as i64 * 1_000_000),
        }
    }

    /// NewOrderSingle (D): the body.
    pub fn write(&self, writer: &mut Writer<'_>) {
        writer.text::<1>(b"ACCT01");
        writer.number::<11>(self.id);
        writer.byte::<21>(b'1');
        writer.number::<38>(self.qty);
        writer.byte::<40>(b'2');
        writer.price::<44>(self.price);
        writer.byte::<54>(if self.is_buy { b'1' } else { b'2' });
        writer.text::<55>(b"BTC-USD");
        writer.byte::<59>(b'0');
        writer.timestamp::<60>(self.utc);
    }

    /// ExecutionReport (8) of a fill: the body, 22 fields and about 228 bytes with the header.
    pub fn write_report(&self, writer: &mut Writer<'_>) {
        let mut price = PriceText::new();
        writer.price_again::<6>(self.price, &mut price);
        writer.number::<11>(self.id);
        writer.number::<14>(self.qty);
        writer.number::<17>(self.id + 7);
        writer.price_again::<31>(self.price, &mut price);
        writer.number::<32>(self.qty);
        writer.number::<37>(self.id + 3);
        writer.number::<38>(self.qty);
        writer.byte::<39>(b'2');
        writer.byte::<40>(b'2');
        writer.price_again::<44>(self.price, &mut price);
        writer.byte::<54>(if self.is_buy { b'1' } else { b'2' });
        writer.text::<55>(b"BTC-USD");
        writer.timestamp::<60>(self.utc);
        writer.byte::<150>(b'F');
        writer.number::<151>(0);
    }
}

/// A store in memory that holds all messages of a kind.
pub fn store() -> MemoryStore {
    MemoryStore::new(DISTINCT, DISTINCT * 256)
}

/// One side of the benchmark's session: full validation.
pub fn session<S: Store>(role: Role, level: SimdLevel, store: S) -> Result<Session<S>, Failure> {
    let name = |text: &[u8]| {
        CompId::new(text).ok_or_else(|| Failure::Run(String::from("a CompID is too long")))
    };
    let (us, them) = match role {
        Role::Initiator => (name(b"CLIENT")?, name(b"VENUE")?),
        Role::Acceptor => (name(b"VENUE")?, name(b"CLIENT")?),
    };
    let dictionary = taut_fix::fix44().map_err(|error| Failure::Run(format!("{error}")))?;
    let mut config = SessionConfig::new(role, BeginString::Fix44, us, them);
    config.dictionaries = Some(Dictionaries::one(std::sync::Arc::new(dictionary)));
    config.reset_on_logon = true;
    config.simd = Some(level);
    Ok(Session::new(config, store))
}

/// Logs two sessions on to each other, without a socket.
pub fn log_on<S: Store>(
    initiator: &mut Session<S>,
    acceptor: &mut Session<S>,
    now: Now,
) -> Result<(), Failure> {
    let mut index = FieldIndex::with_capacity(64);
    let mut out = [0; 1024];
    acceptor.connect(now);
    initiator.connect(now);
    for (from, to) in [(0, 1), (1, 0)] {
        let [from, to] = if (from, to) == (0, 1) {
            [&mut *initiator, &mut *acceptor]
        } else {
            [&mut *acceptor, &mut *initiator]
        };
        if let Some(range) = from.poll_transmit(now, &mut out) {
            to.handle_bytes(now, out.get(range).unwrap_or_default(), &mut index);
        }
    }
    if initiator.is_active() && acceptor.is_active() {
        Ok(())
    } else {
        Err(Failure::Run(String::from("the sessions did not log on")))
    }
}

/// Writes one message of either kind.
pub fn encode<S: Store>(
    session: &mut Session<S>,
    now: Now,
    order: &Order,
    is_report: bool,
    out: &mut [u8],
) -> Result<std::ops::Range<usize>, FixError> {
    if is_report {
        session.send(now, b"8", Extras::default(), out, |writer| order.write_report(writer))
    } else {
        session.send(now, b"D", Extras::default(), out, |writer| order.write(writer))
    }
}
