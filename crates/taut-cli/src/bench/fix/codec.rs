//! What one message costs without a socket: the best of many rounds over all distinct messages.

use std::hint::black_box;

use taut_fix::{FieldIndex, Framed, MESSAGE_BYTES_MAX, Now, Role, Rules, frame};
use taut_types::Nanos;

use crate::bench::fix::cost::Cost;
use crate::bench::fix::messages::{DISTINCT, Order, START_UTC, encode, log_on, session};
use crate::exit::Failure;

const ROUNDS: usize = 60;

/// The three costs.
pub struct Codec {
    /// Framing, checksum, length and field index.
    pub index: Cost,
    /// The same and validation by the dictionary.
    pub parse: Cost,
    /// Header, body, length and checksum, under the next number, kept in the store.
    pub encode: Cost,
}

/// Measures orders and reports.
pub fn measure() -> Result<Codec, Failure> {
    let nos = measure_kind(false)?;
    let er = measure_kind(true)?;
    let pair = |at: usize| Cost { nos: round(nos[at]), er: round(er[at]) };
    Ok(Codec { index: pair(0), parse: pair(1), encode: pair(2) })
}

fn round(ns: f64) -> f64 {
    (ns * 10.0).round() / 10.0
}

fn measure_kind(is_report: bool) -> Result<[f64; 3], Failure> {
    let now = Now { mono: Nanos::from_secs(1), utc: START_UTC };
    let (mut initiator, mut acceptor) = (session(Role::Initiator)?, session(Role::Acceptor)?);
    log_on(&mut initiator, &mut acceptor, now)?;
    let sender = if is_report { &mut acceptor } else { &mut initiator };
    let orders: Vec<_> = (0..DISTINCT as u64).map(Order::numbered).collect();
    let mut out = [0; 1024];
    let mut messages = Vec::with_capacity(DISTINCT);
    for order in &orders {
        let range = encode(sender, now, order, is_report, &mut out)
            .map_err(|error| Failure::Run(format!("cannot encode: {error:?}")))?;
        messages.push(out.get(range).unwrap_or_default().to_vec());
    }
    let dictionary = taut_fix::fix44().map_err(|error| Failure::Run(format!("{error:?}")))?;
    let mut index = FieldIndex::with_capacity(64);
    let mut failed = 0u32;
    let mut indexed = |validate: bool| {
        best(|| {
            for message in &messages {
                let Ok(Framed::Message(found)) = frame(black_box(message), MESSAGE_BYTES_MAX)
                else {
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
    let (index_ns, parse_ns) = (indexed(false), indexed(true));
    let encode_ns = best(|| {
        for order in &orders {
            let made = encode(sender, now, black_box(order), is_report, &mut out);
            failed += u32::from(made.is_err());
            black_box(&out);
        }
    });
    if failed > 0 {
        return Err(Failure::Run(format!("{failed} messages of the benchmark failed")));
    }
    Ok([index_ns, parse_ns, encode_ns])
}

/// Nanoseconds per message in the best round.
fn best(mut round: impl FnMut()) -> f64 {
    let mut best = Nanos::MAX;
    for _ in 0..ROUNDS {
        let start = taut_sys::monotonic();
        round();
        best = best.min(taut_sys::monotonic() - start);
    }
    best.0 as f64 / DISTINCT as f64
}
