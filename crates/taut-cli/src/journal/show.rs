//! A journal in text.

use std::fmt::Write;

use taut_gateway::Owner;
use taut_journal::{Asked, Entry, Fill, OpenOrder, Recovered, Shown, Tail, TailKind, segment_name};
use taut_types::{ClientOrderId, OrderTerms, OrderType, Price, RequestId, Side};

/// What it comes to.
pub fn state(found: &Recovered, writer: Option<u32>) -> String {
    let mut text = head(found, writer);
    let state = &found.state;
    for open in state.orders.values() {
        let _ = writeln!(text, "open {}", order(open));
    }
    for (key, position) in &state.positions {
        let (user, strategy) = (key.user.0, key.strategy.0);
        let (account, instrument, lots) = (key.account.0, key.instrument.0, position.lots().0);
        let _ = writeln!(
            text,
            "position user {user} strategy {strategy} account {account} instrument {instrument}: \
             {lots} lots"
        );
    }
    for highest in state.highest.values() {
        let _ = writeln!(text, "highest order {}", id(*highest));
    }
    for word in &state.killed {
        let _ = writeln!(text, "kill switch {word:016x}");
    }
    text
}

/// Whether it can be believed.
pub fn check(found: &Recovered, writer: Option<u32>) -> String {
    let mut text = head(found, writer);
    for segment in &found.segments {
        let name = segment_name(segment.number);
        let records = segment
            .records
            .map_or("no records".to_owned(), |(first, last)| format!("records {first} to {last}"));
        let (used, bytes) = (segment.used_bytes, segment.bytes);
        let foreign = if segment.is_foreign { "  of another build" } else { "" };
        let _ = writeln!(text, "{name}  {records}  {used} of {bytes} bytes{foreign}");
    }
    let _ = writeln!(text, "every record before the end is right");
    text
}

fn head(found: &Recovered, writer: Option<u32>) -> String {
    let (records, as_of) = (found.records, found.state.as_of);
    let (orders, positions) = (found.state.orders.len(), found.state.positions.len());
    let segments = found.segments.len();
    let mut text = format!(
        "{segments} segments  {records} records up to {as_of}  {orders} open orders  {positions} \
         positions\n"
    );
    if let Some(process) = writer {
        let _ = writeln!(text, "process {process} writes it");
    }
    if found.unknown > 0 {
        let _ = writeln!(text, "{} records are of kinds that this build lacks", found.unknown);
    }
    for line in found.tails.iter().map(tail) {
        let _ = writeln!(text, "{line}");
    }
    match found.requests_lost_max() {
        0 => {}
        lost => {
            let _ = writeln!(text, "up to {lost} requests may have left that are not here");
        }
    }
    text
}

/// What stands behind the records of a segment.
fn tail(tail: &Tail) -> String {
    let (name, offset, bytes) = (segment_name(tail.segment), tail.offset, tail.bytes);
    match tail.kind {
        TailKind::Unfinished => {
            format!("{name} ends at byte {offset}: {bytes} bytes of a record that was not finished")
        }
        TailKind::Damaged => {
            format!("{name} ends at byte {offset}: {bytes} bytes there fail their check")
        }
        TailKind::Cut => format!("{name} is cut at byte {offset}: {bytes} bytes are missing"),
    }
}

/// An entry, a line.
pub fn entry(shown: &Shown) -> String {
    let said = shown.entry.as_ref().map_or("of a kind that this build lacks".to_owned(), said);
    format!("{}  {}  {said}", shown.sequence, shown.time.0)
}

fn said(entry: &Entry) -> String {
    match entry {
        Entry::Create { order, tag, terms } => {
            format!("create {}  {}  tag {tag}", id(*order), self::terms(terms))
        }
        Entry::Modify { request, price, lots } => {
            format!("modify {}  {} lots at {price}", version(*request), lots.0)
        }
        Entry::Cancel { request } => format!("cancel {}", version(*request)),
        Entry::Acknowledged { request, venue_id } => {
            format!("acknowledged {}  by the venue's name {venue_id}", version(*request))
        }
        Entry::Replaced { request, price, lots } => {
            format!("replaced {}  {} lots at {price}", version(*request), lots.0)
        }
        Entry::Filled(fill) | Entry::Execution(fill) => filled(fill),
        Entry::Cancelled { request } => format!("cancelled {}", version(*request)),
        Entry::Expired { order } => format!("expired {}", id(*order)),
        Entry::Rejected { request, reason } => {
            format!("rejected {}  for reason {reason}", version(*request))
        }
        Entry::Day(day) => format!("day {day} began"),
        Entry::Position(key, position) | Entry::Rolled(key, position, _) => format!(
            "position user {} strategy {} account {} instrument {}  {} lots",
            key.user.0,
            key.strategy.0,
            key.account.0,
            key.instrument.0,
            position.lots().0
        ),
        Entry::KillSwitch { word, is_latched } => {
            let what = if *is_latched { "thrown" } else { "released" };
            format!("kill switch {word:016x} {what}")
        }
        Entry::HandedOver { order, to } => {
            format!("handed over {}  to user {} strategy {}", id(*order), to.user.0, to.strategy.0)
        }
        Entry::HighestNumber(order) => format!("highest order {}", id(*order)),
        other => format!("{other:?}"),
    }
}

fn filled(fill: &Fill) -> String {
    let (order, side, lots) = (id(fill.order), side(fill.side), fill.lots.0);
    let (instrument, account) = (fill.instrument.0, fill.account.0);
    let mut text = format!("filled {order}  {side} {lots} lots at {}", fill.price);
    let _ =
        write!(text, "  instrument {instrument}  account {account}  execution {}", fill.exec_id);
    text
}

fn order(open: &OpenOrder) -> String {
    let order = &open.order;
    let mut text = format!("{}  {}", id(order.order), terms(&order.terms));
    let _ = write!(text, "  filled {}  tag {}", order.lots_filled.0, order.tag);
    if open.is_unacknowledged() {
        text.push_str("  not acknowledged");
    } else {
        let _ = write!(text, "  version {}", order.version_accepted);
    }
    if open.owner != Owner::of(order.order) {
        let Owner { user, strategy } = open.owner;
        let _ = write!(text, "  handed over to user {} strategy {}", user.0, strategy.0);
    }
    for asked in &open.unanswered {
        let version = asked.version;
        let _ = match asked.asked {
            Asked::Modify { price, lots } => {
                write!(text, "  modify {version} to {} lots at {price} unanswered", lots.0)
            }
            Asked::Cancel => write!(text, "  cancel {version} unanswered"),
        };
    }
    text
}

fn terms(terms: &OrderTerms) -> String {
    let (side, lots, instrument) = (side(terms.side), terms.lots.0, terms.instrument.0);
    let price = |price: Price| match terms.order_type {
        OrderType::Limit => format!("at {price}"),
        OrderType::Market => "at market".to_owned(),
    };
    let price = price(terms.price);
    format!("{side} {lots} lots {price}  instrument {instrument}  account {}", terms.account.0)
}

const fn side(side: Side) -> &'static str {
    match side {
        Side::Buy => "buy",
        Side::Sell => "sell",
    }
}

/// User, strategy and number.
fn id(order: ClientOrderId) -> String {
    format!("{}/{}/{}", order.user().0, order.strategy().0, order.number())
}

fn version(request: RequestId) -> String {
    format!("{} version {}", id(request.order), request.version)
}
