//! Orders from their first request to their end, out of the gateways' journals.
//!
//! A journal is read when a page asks, on a thread of its own, and only its end: the newest segment
//! that has records, and the one before it where that has few orders. A page is answered with what
//! was read last.

use std::collections::{HashMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, SyncSender};

use serde::Serialize;
use taut_journal::{Entry, Shown, orders_in, scan, segment_name};
use taut_types::{ClientOrderId, Lots, OrderTerms, OrderType, Price, RequestId, Side};

use super::http::{Answer, JSON, decoded};

/// Orders that are told, the latest.
const ORDERS_MAX: usize = 200;
/// What is told of one of them.
const STEPS_MAX: usize = 64;
/// Segments that are looked into, one that is made ahead of time among them.
const SEGMENTS_MAX: usize = 3;
/// A larger segment is not read.
const SEGMENT_BYTES_MAX: u64 = 256 << 20;

/// A gateway's journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JournalOf {
    gateway: String,
    folder: PathBuf,
}

/// Reads `GATEWAY=DIR`.
///
/// # Errors
/// What it must be.
pub fn journal_of(text: &str) -> Result<JournalOf, String> {
    let pair =
        text.split_once('=').filter(|(gateway, folder)| !gateway.is_empty() && !folder.is_empty());
    let (gateway, folder) = pair.ok_or("must be GATEWAY=DIR, such as taut=state/journal")?;
    Ok(JournalOf { gateway: gateway.to_owned(), folder: folder.into() })
}

/// The journals, by their gateways.
#[derive(Debug, Default)]
pub struct Lives {
    readers: HashMap<String, Reader>,
}

#[derive(Debug)]
struct Reader {
    ask: SyncSender<()>,
    read: Receiver<String>,
    /// What was read last.
    told: String,
}

/// An order's life.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct Life {
    /// The text of its id at the venue (ClOrdID).
    id: String,
    user: u8,
    strategy: u8,
    /// The number of its instrument.
    instrument: u32,
    side: &'static str,
    /// Nothing for a market order.
    price: Option<String>,
    lots: i64,
    steps: Vec<Step>,
}

/// What happened to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct Step {
    /// When it was journalled, in ns of UTC since 1970.
    at_ns: i64,
    what: &'static str,
    price: Option<String>,
    lots: Option<i64>,
}

impl Lives {
    /// Those of these gateways.
    pub fn new(journals: &[JournalOf]) -> Self {
        let reader = |journal: &JournalOf| {
            let (ask, asked) = mpsc::sync_channel(1);
            let (sender, read) = mpsc::channel();
            let folder = journal.folder.clone();
            let serve = move || {
                while asked.recv().is_ok() && sender.send(told(&folder)).is_ok() {}
            };
            // Where no thread can be had, nothing is ever told.
            let _ = std::thread::Builder::new().name("taut-desk-lives".to_owned()).spawn(serve);
            let told = "{\"orders\":[],\"error\":null}".to_owned();
            (journal.gateway.clone(), Reader { ask, read, told })
        };
        Self { readers: journals.iter().map(reader).collect() }
    }

    /// Whose journals are known.
    pub fn gateways(&self) -> Vec<&String> {
        self.readers.keys().collect()
    }

    /// What is asked for below `/orders`; nothing where there is none.
    pub fn answer(&mut self, path: &str) -> Option<Answer> {
        let name = decoded(path.strip_prefix("/orders/")?)?;
        let reader = self.readers.get_mut(&name)?;
        if let Some(newest) = reader.read.try_iter().last() {
            reader.told = newest;
        }
        // Full: somebody has asked already.
        let _ = reader.ask.try_send(());
        Some(Answer::new(200, JSON, reader.told.as_bytes()))
    }
}

fn told(folder: &Path) -> String {
    #[derive(Serialize)]
    struct Told {
        orders: VecDeque<Life>,
        error: Option<String>,
    }
    let told = match read(folder) {
        Ok(orders) => Told { orders, error: None },
        Err(error) => Told { orders: VecDeque::new(), error: Some(error) },
    };
    serde_json::to_string(&told).unwrap_or_default()
}

/// The last orders of a journal, the latest last.
fn read(folder: &Path) -> Result<VecDeque<Life>, String> {
    // They may stand in a recording.
    let folder = orders_in(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let wrong = |error: std::io::Error| format!("{}: {error}", folder.display());
    let mut numbers: Vec<u32> = std::fs::read_dir(&folder)
        .map_err(wrong)?
        .flatten()
        .filter_map(|it| it.file_name().to_str()?.strip_suffix(".journal")?.parse().ok())
        .collect();
    numbers.sort_unstable();
    let mut newest = Vec::new();
    let mut created = 0;
    for number in numbers.into_iter().rev().take(SEGMENTS_MAX) {
        let file = folder.join(segment_name(number));
        if std::fs::metadata(&file).map_err(wrong)?.len() > SEGMENT_BYTES_MAX {
            return Err(format!("{}: too large to look into", file.display()));
        }
        let bytes = std::fs::read(&file).map_err(wrong)?;
        let mut records = 0;
        visit(&bytes, number, &mut |shown| {
            records += 1;
            created += usize::from(matches!(shown.entry, Some(Entry::Create { .. })));
        });
        if records > 0 {
            newest.push((number, bytes));
        }
        if created >= ORDERS_MAX {
            break;
        }
    }
    let mut orders = Orders::default();
    for (number, bytes) in newest.iter().rev() {
        visit(bytes, *number, &mut |shown| orders.hear(shown));
    }
    Ok(orders.lives.into_iter().map(|(_, life)| life).collect())
}

/// Its records up to where they end, or to where somebody writes at this moment.
fn visit(bytes: &[u8], number: u32, visit: &mut dyn FnMut(&Shown)) {
    // What looks damaged may be half written: `taut journal check` says what is.
    let _ = scan(bytes, number, None, 1, visit);
}

/// Orders, as their journal is read.
#[derive(Debug, Default)]
struct Orders {
    lives: VecDeque<(ClientOrderId, Life)>,
}

impl Orders {
    fn hear(&mut self, shown: &Shown) {
        let Some(entry) = &shown.entry else { return };
        if let Entry::Create { order, terms, .. } = entry {
            if self.lives.len() == ORDERS_MAX {
                self.lives.pop_front();
            }
            self.lives.push_back((*order, Life::new(*order, terms)));
        }
        let Some((order, what, price, lots)) = step(entry) else { return };
        // It is most likely one of the latest.
        let found = self.lives.iter_mut().rev().find(|(it, _)| *it == order);
        let Some((_, life)) = found.filter(|(_, life)| life.steps.len() < STEPS_MAX) else {
            return;
        };
        let (at_ns, price) = (shown.time.0, price.map(|price| price.to_string()));
        life.steps.push(Step { at_ns, what, price, lots: lots.map(|lots| lots.0) });
    }
}

impl Life {
    fn new(order: ClientOrderId, terms: &OrderTerms) -> Self {
        let text = RequestId::create(order).to_text();
        let is_limit = terms.order_type == OrderType::Limit;
        Self {
            id: String::from_utf8_lossy(&text).into_owned(),
            user: order.user().0,
            strategy: order.strategy().0,
            instrument: terms.instrument.0,
            side: match terms.side {
                Side::Buy => "buy",
                Side::Sell => "sell",
            },
            price: is_limit.then(|| terms.price.to_string()),
            lots: terms.lots.0,
            steps: Vec::new(),
        }
    }
}

type Said = (ClientOrderId, &'static str, Option<Price>, Option<Lots>);

/// What an entry says of an order.
fn step(entry: &Entry) -> Option<Said> {
    let said = match *entry {
        Entry::Create { order, .. } => (order, "sent", None, None),
        Entry::Acknowledged { request, .. } => (request.order, "acknowledged", None, None),
        Entry::Modify { request, price, lots } => {
            (request.order, "change asked for", Some(price), Some(lots))
        }
        Entry::Replaced { request, price, lots } => {
            (request.order, "changed", Some(price), Some(lots))
        }
        Entry::Cancel { request } => (request.order, "cancel asked for", None, None),
        Entry::Cancelled { request } => (request.order, "cancelled", None, None),
        Entry::Filled(fill) => (fill.order, "filled", Some(fill.price), Some(fill.lots)),
        Entry::Expired { order } => (order, "expired", None, None),
        Entry::Rejected { request, .. } => (request.order, "rejected", None, None),
        Entry::HandedOver { order, .. } => (order, "handed over", None, None),
        _ => return None,
    };
    Some(said)
}

#[cfg(test)]
mod tests {
    use taut_journal::{Journal, Settings, VenueId};
    use taut_types::{InstrumentId, Nanos};

    use super::*;

    #[test]
    fn an_order_is_told_from_its_first_request_to_its_end() {
        let folder = tempfile::tempdir().expect("a folder");
        let settings = Settings { segment_bytes: 64 << 10, ..Settings::default() };
        let journal = Journal::open(folder.path(), settings).expect("a journal");
        let Journal { mut writer, mut housekeeper, .. } = journal;
        let mut now = 0;
        let mut write = |entry: &Entry| {
            now += 1_000;
            writer.append(Nanos(now), entry).expect("room");
        };
        let terms = OrderTerms::limit(InstrumentId(1), Side::Sell, Price(1_500_000_000), Lots(5));
        for number in 1..=ORDERS_MAX as u64 + 3 {
            let order = ClientOrderId(number);
            write(&Entry::Create { order, tag: 0, terms });
            let venue_id = VenueId::new(b"V");
            write(&Entry::Acknowledged { request: RequestId::create(order), venue_id });
            let request = RequestId { order, version: 2 };
            let (price, lots) = (Price(1_600_000_000), Lots(4));
            write(&Entry::Modify { request, price, lots });
            write(&Entry::Replaced { request, price, lots });
            let request = RequestId { order, version: 3 };
            write(&Entry::Cancel { request });
            write(&Entry::Cancelled { request });
            housekeeper.turn().expect("a turn");
        }
        let orders = read(folder.path()).expect("orders");
        assert_eq!(orders.len(), ORDERS_MAX);
        let last = orders.back().expect("an order");
        let steps: Vec<_> = last.steps.iter().map(|it| it.what).collect();
        assert_eq!(
            steps,
            [
                "sent",
                "acknowledged",
                "change asked for",
                "changed",
                "cancel asked for",
                "cancelled"
            ]
        );
        assert_eq!((last.side, last.price.as_deref(), last.lots), ("sell", Some("1.5"), 5));
        let changed = &last.steps[3];
        assert_eq!((changed.price.as_deref(), changed.lots), (Some("1.6"), Some(4)));
        assert_eq!(last.steps[1].at_ns - last.steps[0].at_ns, 1_000);
        assert_eq!(last.id.len(), RequestId::TEXT_BYTES);
        assert!(told(folder.path()).ends_with("\"error\":null}"));
        let nowhere = told(&folder.path().join("nowhere"));
        assert!(nowhere.contains("nowhere: "), "{nowhere}");
    }

    #[test]
    fn a_journal_is_named_with_its_gateway() {
        let journal = journal_of("taut=a=b").expect("a journal");
        assert_eq!((&*journal.gateway, &*journal.folder), ("taut", Path::new("a=b")));
        for wrong in ["", "taut", "=a", "taut="] {
            assert!(journal_of(wrong).is_err(), "{wrong}");
        }
        let mut lives = Lives::new(&[journal]);
        assert_eq!(lives.gateways(), ["taut"]);
        assert_eq!(lives.answer("/orders/other"), None);
        assert_eq!(lives.answer("/other"), None);
        let answer = lives.answer("/orders/taut").expect("an answer");
        assert!(answer.body.starts_with(b"{\"orders\":[]"));
    }
}
