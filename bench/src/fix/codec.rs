//! What one message costs without a socket: the best of many rounds over all distinct messages.

use std::hint::black_box;

use serde::Serialize;
use taut_fix::{
    FieldIndex, Framed, MESSAGE_BYTES_MAX, MemoryStore, Now, Role, Rules, Session, SimdLevel,
    Store, frame_at,
};
use taut_types::Nanos;

use crate::fix::messages::{DISTINCT, Order, START_UTC, encode, log_on, session, store};
use crate::timing::best;
use taut_report::Failure;

const NOW: Now = Now { mono: Nanos::from_secs(1), utc: START_UTC };

/// Nanoseconds per message, of an order and of a report.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Cost {
    pub nos: f64,
    pub er: f64,
}

/// The four costs.
pub struct Codec {
    /// Framing, checksum, length and field index.
    pub index: Cost,
    /// The same and validation by the dictionary.
    pub parse: Cost,
    /// Header, body, length and checksum, under the next number.
    pub encode: Cost,
    /// The same, kept in a store in memory.
    pub kept: Cost,
}

/// Measures orders and reports.
pub fn measure(level: SimdLevel) -> Result<Codec, Failure> {
    let nos = measure_kind(false, level)?;
    let er = measure_kind(true, level)?;
    let pair = |at: usize| Cost { nos: nos[at], er: er[at] };
    Ok(Codec { index: pair(0), parse: pair(1), encode: pair(2), kept: pair(3) })
}

fn measure_kind(is_report: bool, level: SimdLevel) -> Result<[f64; 4], Failure> {
    // Room for no message: what is left is the cost of encoding.
    let mut bare = logged_on(is_report, level, || MemoryStore::new(0, 0))?;
    let orders: Vec<_> = (0..DISTINCT as u64).map(Order::numbered).collect();
    let mut out = [0; 1024];
    let mut messages = Vec::with_capacity(DISTINCT);
    for order in &orders {
        let range = encode(&mut bare, NOW, order, is_report, &mut out)
            .map_err(|error| Failure::Run(format!("cannot encode: {error}")))?;
        messages.push(out.get(range).unwrap_or_default().to_vec());
    }
    let [index_ns, parse_ns] = read(&messages, level)?;
    let mut keeping = logged_on(is_report, level, store)?;
    let encode_ns = write(&mut bare, &orders, is_report)?;
    Ok([index_ns, parse_ns, encode_ns, write(&mut keeping, &orders, is_report)?])
}

/// A session that sends orders or reports.
fn logged_on<S: Store>(
    is_report: bool,
    level: SimdLevel,
    store: impl Fn() -> S,
) -> Result<Session<S>, Failure> {
    let mut initiator = session(Role::Initiator, level, store())?;
    let mut acceptor = session(Role::Acceptor, level, store())?;
    log_on(&mut initiator, &mut acceptor, NOW)?;
    Ok(if is_report { acceptor } else { initiator })
}

/// Nanoseconds to index a message, and to hold it against the dictionary as well.
fn read(messages: &[Vec<u8>], level: SimdLevel) -> Result<[f64; 2], Failure> {
    let dictionary = taut_fix::fix44().map_err(|error| Failure::Run(format!("{error}")))?;
    let mut index = FieldIndex::with_level(64, level);
    let mut failed = 0u32;
    let mut indexed = |validate: bool| {
        best(DISTINCT, || {
            for message in messages {
                let framed = frame_at(black_box(message), MESSAGE_BYTES_MAX, level);
                let Ok(Framed::Message(found)) = framed else {
                    failed += 1;
                    continue;
                };
                failed += u32::from(index.fill(&found).is_err());
                if validate {
                    let checked = dictionary.check(found.bytes(), index.slots(), Rules::ALL);
                    failed += u32::from(checked.is_err());
                }
                black_box(index.slots());
            }
        })
    };
    let costs = [indexed(false), indexed(true)];
    none_failed(failed)?;
    Ok(costs)
}

/// Nanoseconds to write a message.
fn write<S: Store>(
    session: &mut Session<S>,
    orders: &[Order],
    is_report: bool,
) -> Result<f64, Failure> {
    let (mut failed, mut out) = (0u32, [0; 1024]);
    let cost = best(DISTINCT, || {
        for order in orders {
            let made = encode(session, NOW, black_box(order), is_report, &mut out);
            failed += u32::from(made.is_err());
            black_box(&out);
        }
    });
    none_failed(failed)?;
    Ok(cost)
}

fn none_failed(failed: u32) -> Result<(), Failure> {
    if failed > 0 {
        return Err(Failure::Run(format!("{failed} messages of the benchmark failed")));
    }
    Ok(())
}
