//! A reader of taut's own; QuickFIX is one in taut-cli's tests.

use std::cell::RefCell;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::rc::Rc;
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use taut_fix::{BeginString, CompId, Event, ExecType, OrderFlow, Role, SessionConfig};
use taut_fix_engine::{
    Application, DropCopySettings, Initiator, Outbox, Received, SessionSettings, Tell,
};
use taut_io::{Completion, EpollKernel, EventLoop, Io, LoopConfig};
use taut_oms::{ExecId, OrderEvent, OrderTable, Report};
use taut_testkit::Deadline;
use taut_types::{
    ClientOrderId, Instrument, InstrumentId, Lots, Nanos, OrderTerms, Price, Qty, RequestId, Side,
    Symbol,
};

use super::*;
use crate::owner::Owner;

const ORDER: ClientOrderId = ClientOrderId(5);
const LOT: Qty = Qty::whole(1);

fn comp_id(text: &str) -> CompId {
    CompId::new(text.as_bytes()).unwrap()
}

fn instrument() -> Instrument {
    let symbol = Symbol::new(b"ONE").unwrap();
    Instrument::new(InstrumentId(0), symbol, Price(10_000_000), LOT).unwrap()
}

/// One order and what the venue says of it.
struct Told {
    table: OrderTable,
    copies: DropCopies,
    execs: u64,
}

impl Told {
    fn new(copies: DropCopies) -> Self {
        Self::of(copies, InstrumentId(0))
    }

    fn of(copies: DropCopies, instrument: InstrumentId) -> Self {
        let mut table = OrderTable::with_capacity(4);
        let terms = OrderTerms::limit(instrument, Side::Buy, Price(2_000_000_000), Lots(10));
        table.create(ORDER, &terms, 0, 1, Nanos::ZERO).unwrap();
        Self { table, copies, execs: 0 }
    }

    fn trade(&mut self, lots: i64, price: i64) {
        self.execs += 1;
        let exec_id = ExecId::new(format!("E{}", self.execs).as_bytes());
        let request = RequestId::create(ORDER);
        let plain = Report::plain(request, OrderEvent::Traded, LOT);
        let price = Some(Price(price));
        let change = self.table.apply(&Report { last: Qty::whole(lots), price, exec_id, ..plain });
        let order = self.table.get(ORDER).unwrap();
        let origin = Origin { exec_id, ..Origin::none(request) };
        self.copies.note(order, &change.unwrap(), None, &origin);
        self.copies.hand_over();
    }
}

/// What a reader got: ExecID, SecondaryExecID, LastQty, CumQty, AvgPx, Text, Symbol, and whether
/// it may have been sent before.
#[derive(Clone, Debug, PartialEq)]
struct Copy {
    exec_id: String,
    venue_exec_id: String,
    last: String,
    total: String,
    average: String,
    text: String,
    symbol: String,
    is_again: bool,
}

#[derive(Clone, Default)]
struct Reading(Rc<RefCell<Vec<Copy>>>);

impl Application for Reading {
    fn handle(&mut self, event: Event, message: Received<'_>, _: &mut Outbox<'_>) {
        let Event::Application { poss_dup, .. } = event else { return };
        let Ok(OrderFlow::ExecutionReport(report)) = message.order_flow() else {
            panic!("{:?}", String::from_utf8_lossy(message.bytes));
        };
        assert_eq!(report.exec_type, ExecType::Trade);
        let text = |tag| String::from_utf8_lossy(message.value(tag).unwrap()).into_owned();
        self.0.borrow_mut().push(Copy {
            exec_id: text(17),
            venue_exec_id: text(527),
            last: text(32),
            total: text(14),
            average: text(6),
            text: text(58),
            symbol: text(55),
            is_again: poss_dup,
        });
    }
}

/// Logs on, reads so many copies, and leaves without a word.
fn read(at: SocketAddr, store: &Path, count: usize) -> Vec<Copy> {
    let mut events = EventLoop::new(EpollKernel::new(8).unwrap(), LoopConfig::default()).unwrap();
    let (us, them) = (comp_id("RISK"), comp_id("GATEWAY"));
    let config = SessionConfig::new(Role::Initiator, BeginString::Fix44, us, them);
    let mut settings = SessionSettings::new(config);
    settings.store = Some(store.to_owned());
    settings.addresses = vec![at.to_string()];
    settings.reconnect_min = Nanos::from_millis(10);
    let reading = Reading::default();
    let mut initiator = Initiator::start(events.io(), settings, reading.clone()).unwrap();
    let mut handler = |io: &mut Io<EpollKernel>, completion: Completion<'_>| {
        initiator.handle(io, &completion);
    };
    let deadline = Deadline::default();
    while reading.0.borrow().len() < count {
        deadline.check("so many copies", || format!("{:?}", reading.0.borrow()));
        events.wait(&mut handler, Nanos::from_millis(10)).unwrap();
    }
    reading.0.take()
}

type Served = (DropCopies, SocketAddr, thread::JoinHandle<std::io::Result<()>>);

/// Strategies that are named are called so.
fn open(folder: &Path, news: Receiver<DropCopyNews>) -> Served {
    let settings = DropCopySettings {
        listen: (Ipv4Addr::LOCALHOST, 0).into(),
        sender_comp_id: comp_id("GATEWAY"),
        readers: vec![comp_id("RISK"), comp_id("ABSENT")],
        store: folder.join("copies"),
        tell: Tell::new(|words| panic!("{words}")),
    };
    let (copies, mut server) = DropCopies::open(&settings, vec![instrument()], news).unwrap();
    let address = server.local_address().unwrap();
    (copies, address, thread::spawn(move || server.run()))
}

#[test]
fn a_reader_that_comes_back_gets_what_it_missed_once_and_so_it_does_from_the_next_server() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("reader");
    let (named, names) = channel();
    let (copies, at, server) = open(folder.path(), names);
    let mut told = Told::new(copies);
    told.trade(1, 2_000_000_000);
    told.trade(3, 1_000_000_000);
    let mut all = read(at, &store, 2);
    assert!(all.iter().all(|copy| copy.is_again));
    assert_eq!((&*all[0].last, &*all[0].total, &*all[0].average), ("1", "1", "2"));
    assert_eq!((&*all[1].last, &*all[1].total, &*all[1].average), ("3", "4", "1.25"));
    assert!(all.iter().all(|copy| copy.text == "user=0 strategy=0"), "{all:?}");
    // A strategy that is added while the gateway runs has its name, too.
    named.send(DropCopyNews::Name(Owner::of(ORDER), "test".to_owned())).unwrap();
    told.trade(2, 1_000_000_000);
    all.extend(read(at, &store, 1));
    assert_eq!(all[2].text, "user=0 strategy=0 name=test");
    // Nobody reads, and the gateway ends: what it has told is kept.
    told.trade(1, 1_000_000_000);
    drop(told);
    server.join().unwrap().unwrap();
    let (copies, at, server) = open(folder.path(), channel().1);
    let mut told = Told::new(copies);
    told.trade(5, 1_000_000_000);
    all.extend(read(at, &store, 2));
    drop(told);
    server.join().unwrap().unwrap();
    let venue_ids: Vec<_> = all.iter().map(|copy| copy.venue_exec_id.as_str()).collect();
    assert_eq!(venue_ids, ["E1", "E2", "E3", "E4", "E1"]);
    let ids: std::collections::BTreeSet<_> = all.iter().map(|copy| &copy.exec_id).collect();
    assert_eq!(ids.len(), all.len(), "{all:?}");
}

#[test]
fn an_instrument_that_is_added_has_its_copies_too() {
    let folder = tempfile::tempdir().unwrap();
    let (news, heard) = channel();
    let (copies, at, server) = open(folder.path(), heard);
    let symbol = Symbol::new(b"NEW").unwrap();
    let new = Instrument::new(InstrumentId(1), symbol, Price(10_000_000), LOT).unwrap();
    news.send(DropCopyNews::Instrument(new)).unwrap();
    let mut told = Told::of(copies, new.id());
    told.trade(2, 1_000_000_000);
    let copies = read(at, &folder.path().join("reader"), 1);
    assert_eq!((&*copies[0].symbol, &*copies[0].last), ("NEW", "2"));
    drop(told);
    server.join().unwrap().unwrap();
}
