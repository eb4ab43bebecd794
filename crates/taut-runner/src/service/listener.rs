//! The thread that listens: the control socket, the clock, the signals.

mod measured;
mod parts;
mod reloading;
mod signs;

use std::collections::BTreeMap;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::OnceLock;
use std::sync::mpsc::{Receiver, Sender, TryRecvError};
use std::time::Duration;

use taut_gateway::{DropCopyNews, OpenOrder, Owner};
use taut_ipc::Segment;
use taut_log::messages as say;
use taut_log::{Entry, Message};
use taut_market_data::Staleness;
use taut_oms::{Balance, Latched, PositionKey, PositionReport};
use taut_sys::{
    ControlListener, Doorbell, Wait, monotonic, process_id, reload_requests, stop_requests, utc,
    wait_readable,
};
use taut_types::{Instrument, InstrumentId, Lots, Nanos, Price, RequestId, Side};

use crate::control::{Channel, Incoming};
use crate::error::RunnerError;
use crate::outliers::OutlierWatch;
use crate::service::explain::when_gone_words;
use crate::service::file::GatewayFile;
use crate::service::listener::parts::in_parts;
use crate::service::listener::signs::status_line;
use crate::service::names::Names;
use crate::service::place::Place;
use crate::service::protocol::{
    BalanceLine, BookLines, ControlReply, ControlRequest, InstrumentLine, LatchLine, LimitLine,
    OrderLine, PositionLine, ScopeName, Snapshot, StaleBook, Status, StrategyLine, VenueClockLine,
};
use crate::service::reloading::Reloading;
use crate::service::rules::Rules;
use crate::service::telling::{Heard, entry};
use crate::service::threads::{
    About, Answer, BookPicture, Command, Glance, Numbered, Picture, UNASKED,
};

pub use signs::Signs;

/// How often the clock is anchored and signals are looked at.
const LOOK: Nanos = Nanos::from_millis(100);
/// How long the trading thread may take with an answer.
const ANSWER: Nanos = Nanos::from_secs(2);
/// How often it is looked for the answer to who only looks.
const ANSWER_STEP: Nanos = Nanos::from_micros(200);
/// Connections at one time, beside those of strategies.
const CONNECTIONS_MAX: usize = 64;

/// A connection, and the place that it has as a strategy.
#[derive(Debug)]
struct Connection {
    channel: Channel,
    place: Option<usize>,
    /// Its strategy was dropped: it is told no more, and only its end is waited for.
    is_over: bool,
    /// It asked for the reload that is under way.
    awaits_reload: bool,
}

/// The listening thread's part.
#[derive(Debug)]
pub struct Listener<'a> {
    file: GatewayFile,
    /// Where the names of strategies and new instruments go, for drop copies.
    news: Sender<DropCopyNews>,
    /// The limits that hold.
    rules: Rules,
    instruments: Vec<Instrument>,
    listener: ControlListener,
    segment: &'a Segment,
    places: Vec<Place<'a>>,
    /// The strategy that runs in the thread that trades: then nobody attaches.
    fused: Option<String>,
    bell: &'a Doorbell,
    connections: Vec<Connection>,
    asks: Sender<Numbered<Command>>,
    answers: Receiver<Numbered<Answer>>,
    /// The number of the last command.
    asked: u64,
    /// By name, how often a strategy was dropped because it left its replies unread.
    dropped: BTreeMap<String, u64>,
    /// Whether it was told that nobody can connect.
    cannot_accept: bool,
    started: Nanos,
    is_stopping: bool,
    /// Reloads that signals asked for.
    reloads: u32,
    /// A reload that waits for the venue's definitions.
    reloading: Option<Reloading>,
    /// What is to be told to people.
    told: Vec<Entry>,
    /// Who keeps the worst orders.
    outliers: Option<&'a OutlierWatch>,
    /// The number of the thread that trades, once it runs.
    thread: Option<&'a OnceLock<u32>>,
}

impl<'a> Listener<'a> {
    pub fn bind(
        file: &GatewayFile,
        path: &Path,
        segment: &'a Segment,
        places: Vec<Place<'a>>,
        bell: &'a Doorbell,
        (asks, answers): (Sender<Numbered<Command>>, Receiver<Numbered<Answer>>),
        news: Sender<DropCopyNews>,
    ) -> Result<Self, RunnerError> {
        let listener = ControlListener::bind(path).map_err(|error| {
            let remedy = if error.is_address_in_use() {
                "; a gateway of this name runs already: end it, or give this one another name"
            } else {
                ""
            };
            RunnerError::Run(format!("{}: {error}{remedy}", path.display()))
        })?;
        tell_names(&news, file);
        Ok(Self {
            news,
            rules: file.rules()?,
            instruments: file.instruments()?,
            file: file.clone(),
            listener,
            segment,
            places,
            fused: None,
            bell,
            connections: Vec::new(),
            asks,
            answers,
            asked: UNASKED,
            dropped: BTreeMap::new(),
            cannot_accept: false,
            started: monotonic(),
            is_stopping: false,
            reloads: reload_requests(),
            reloading: None,
            told: Vec::new(),
            outliers: None,
            thread: None,
        })
    }

    /// This strategy runs in the thread that trades.
    pub fn set_fused(&mut self, name: Option<&str>) {
        self.fused = name.map(str::to_owned);
    }

    /// The worst orders are kept there.
    pub const fn set_outliers(&mut self, outliers: Option<&'a OutlierWatch>) {
        self.outliers = outliers;
    }

    /// There stands the number of the thread that trades.
    pub const fn set_thread(&mut self, thread: &'a OnceLock<u32>) {
        self.thread = Some(thread);
    }

    /// Listens until the trading thread `is_over`; `anchor` renews the clock, `signs` are those of
    /// that thread, `heard` is told what is for people.
    pub fn run(
        &mut self,
        mut anchor: impl FnMut(),
        is_over: impl Fn() -> bool,
        signs: &mut Signs<'_>,
        heard: Heard<'_>,
    ) -> Result<(), RunnerError> {
        let mut is_told_stopping = false;
        while !is_over() {
            anchor();
            if stop_requests() > 0 && !self.is_stopping {
                self.stop();
            }
            if self.is_stopping && !std::mem::replace(&mut is_told_stopping, true) {
                signs.manager.stopping();
            }
            if self.reloading.is_none() && self.reloads != reload_requests() {
                self.reloads = reload_requests();
                signs.manager.reloading(monotonic());
                // It is told what came of it below.
                let _ = self.reload();
            }
            self.go_on_reloading();
            if self.reloading.is_none() {
                signs.manager.reloaded();
            }
            while let Ok((_, answer)) = self.answers.try_recv() {
                self.hear(&answer);
            }
            self.tell_log(signs, heard);
            signs.manager.set_status(status_line(self.segment, self.instruments.len()));
            signs.look(monotonic());
            let mut fds: Vec<BorrowedFd<'_>> = vec![self.listener.as_fd()];
            fds.extend(self.connections.iter().map(|it| it.channel.socket().as_fd()));
            fds.extend(self.reloading.as_ref().map(Reloading::fd));
            // A signal ends the wait, and is looked at.
            let _ = wait_readable(&fds, Some(LOOK));
            self.accept();
            // The oldest first: the end of a strategy is seen before it attaches anew.
            let mut at = 0;
            while at < self.connections.len() {
                if self.listen_to(at) {
                    at += 1;
                } else {
                    self.hang_up(at);
                }
            }
        }
        Ok(())
    }

    /// Tells what the trading thread said, and what was told here.
    pub fn tell_log(&mut self, signs: &mut Signs<'_>, heard: Heard<'_>) {
        signs.tell(&self.instruments, heard);
        self.told.drain(..).for_each(|entry| heard(&entry));
    }

    fn tell<M: Message>(&mut self, message: &M, words: impl Into<String>) {
        self.told.push(entry(message, words));
    }

    fn stop(&mut self) {
        self.is_stopping = true;
        // The trading thread says by its end how it went.
        let _ = self.ask(Command::Stop);
    }

    /// Lets those in who wait. Where the system cannot (no descriptors left, say), the gateway
    /// trades on, those who are connected are listened to, and it is tried again.
    fn accept(&mut self) {
        loop {
            match self.listener.accept() {
                Ok(Some(socket)) if self.connections.len() < CONNECTIONS_MAX => {
                    let channel = Channel::new(socket);
                    self.connections.push(Connection::new(channel));
                }
                Ok(Some(_)) => {}
                Ok(None) => {
                    self.cannot_accept = false;
                    return;
                }
                Err(error) => {
                    if !std::mem::replace(&mut self.cannot_accept, true) {
                        self.tell(
                            &say::CannotAccept {},
                            format!("control socket: {error}; trying again"),
                        );
                    }
                    taut_sys::sleep(LOOK);
                    return;
                }
            }
        }
    }

    /// Answers what a connection asks; whether it stands.
    fn listen_to(&mut self, at: usize) -> bool {
        loop {
            let Some(connection) = self.connections.get_mut(at) else { return false };
            let request = match connection.channel.receive::<ControlRequest>() {
                Ok(Incoming::Nothing) => return true,
                Ok(Incoming::Message(..)) if connection.is_over => continue,
                Ok(Incoming::Message(request, _)) => request,
                Ok(Incoming::Gone) | Err(_) => return false,
            };
            for (reply, fds) in self.replies(at, request) {
                let fds: Vec<BorrowedFd<'_>> = fds.iter().map(AsFd::as_fd).collect();
                let Some(connection) = self.connections.get(at) else { return false };
                if connection.channel.send(&reply, &fds).is_err() {
                    return false;
                }
            }
        }
    }

    /// A connection is over; its strategy is gone.
    fn hang_up(&mut self, at: usize) {
        let Connection { place, .. } = self.connections.remove(at);
        if let Some(place) = place {
            let _ = self.ask(Command::Detach(place));
            let left = self.places.get_mut(place).and_then(|place| place.strategy.take());
            if let Some(name) = left {
                self.tell(&say::StrategyLeft {}, format!("strategy '{name}' has left"));
            }
        }
    }

    /// Something that is no answer to what is asked now.
    fn hear(&mut self, answer: &Answer) {
        let place = match answer {
            Answer::Dropped(place) => *place,
            Answer::Rolled(picture) => return self.day_ended(picture),
            Answer::Told(About::Positions, line) => {
                return self.tell(&say::PositionsDiffer {}, line);
            }
            Answer::Told(About::Recording, line) => return self.tell(&say::RecordingFull {}, line),
            _ => return,
        };
        if let Some(name) = self.end_attachment(place) {
            let words = self.file.strategy(&name).and_then(when_gone_words);
            let orders = words.unwrap_or_else(|| "its orders are cancelled".to_owned());
            let words =
                format!("strategy '{name}' left its replies unread and was dropped; {orders}");
            self.tell(&say::StrategyDropped {}, words);
            *self.dropped.entry(name).or_default() += 1;
        }
    }

    /// A day was settled: its snapshot is written.
    fn day_ended(&mut self, picture: &Picture) {
        let positions = picture.positions.len();
        let Some(folder) = &self.file.risk.snapshot_folder else {
            let words = format!("the day is over: {positions} positions settled");
            return self.tell(&say::DayEnded {}, words);
        };
        let snapshot = self.snapshot(picture);
        let path = snapshot.path_in(folder);
        let written = std::fs::create_dir_all(folder).and_then(|()| snapshot.write(&path));
        let path = path.display();
        let words = format!("the day is over: {positions} positions settled");
        match written {
            Ok(()) => self.tell(&say::DayEnded {}, format!("{words}, see {path}")),
            Err(error) => {
                self.tell(&say::NoSnapshot {}, format!("{words}; no snapshot: {path}: {error}"));
            }
        }
    }

    fn snapshot(&self, picture: &Picture) -> Snapshot {
        let balance = |balance: &Balance| BalanceLine {
            account: balance.account.0,
            currency: balance.currency.to_string(),
            amount: balance.amount.to_string(),
        };
        Snapshot {
            gateway: self.file.name.clone(),
            at_ns: picture.utc.0,
            positions: picture.positions.iter().map(|held| self.position_line(held)).collect(),
            orders: picture.orders.iter().map(|order| self.order_line(order)).collect(),
            balances: picture.balances.iter().map(balance).collect(),
            latches: self.latch_lines(&picture.killed),
        }
    }

    /// The strategy of a place is no longer attached, and sees the end of its connection; the place
    /// is another one's when it has ended its own.
    fn end_attachment(&mut self, place: usize) -> Option<String> {
        let connection = self.connections.iter_mut().find(|it| it.place == Some(place));
        if let Some(connection) = connection {
            connection.is_over = true;
            connection.channel.close();
        }
        self.places.get_mut(place)?.strategy.take()
    }

    fn ask(&mut self, command: Command) -> Result<Answer, String> {
        let number = self.asked + 1;
        self.asked = number;
        let only_looks = command.only_looks();
        self.asks.send((number, command)).map_err(|_| "the gateway is ending".to_owned())?;
        // A thread that spins makes no system call for who only looks: its next round of
        // housekeeping is at most a millisecond away, and its answer wakes nobody. One that sleeps
        // is woken, as by a packet.
        if !only_looks || self.file.waits() == Wait::Block {
            self.bell.ring();
        }
        let deadline = monotonic() + ANSWER;
        loop {
            let next = match self.answers.try_recv() {
                Err(TryRecvError::Empty) if only_looks && monotonic() < deadline => {
                    // PACE: who answers wakes nobody.
                    taut_sys::sleep(ANSWER_STEP);
                    continue;
                }
                Err(TryRecvError::Empty) if !only_looks => {
                    let left = deadline.since(monotonic()).0.max(0).unsigned_abs();
                    self.answers.recv_timeout(Duration::from_nanos(left)).ok()
                }
                other => other.ok(),
            };
            match next {
                // To one that was given up, or to none.
                Some((other, answer)) if other != number => self.hear(&answer),
                Some((_, Answer::Failed(text))) => return Err(text),
                Some((_, answer)) => return Ok(answer),
                None => {
                    let seconds = ANSWER.0 / 1_000_000_000;
                    return Err(format!(
                        "the gateway did not answer within {seconds} s; what was asked for may \
                         still be done"
                    ));
                }
            }
        }
    }

    fn replies(&mut self, at: usize, request: ControlRequest) -> Vec<(ControlReply, Vec<OwnedFd>)> {
        let replied = match request {
            ControlRequest::Attach { strategy } => {
                return vec![self.attach(at, &strategy).unwrap_or_else(failed)];
            }
            ControlRequest::Observe => {
                return self.observe().unwrap_or_else(|text| vec![failed(text)]);
            }
            ControlRequest::Status => self.ask(Command::Status).map(|answer| match answer {
                Answer::Status(glance) => vec![self.status(glance)],
                _ => Vec::new(),
            }),
            ControlRequest::Orders => self.ask(Command::Orders).map(|answer| match answer {
                Answer::Orders(orders) => self.orders(&orders),
                _ => Vec::new(),
            }),
            ControlRequest::Positions => self.ask(Command::Positions).map(|answer| match answer {
                Answer::Positions(held) => self.positions(&held),
                _ => Vec::new(),
            }),
            ControlRequest::Book { symbol } => self.book(&symbol).map(|book| vec![book]),
            ControlRequest::Snapshot => self.ask(Command::Picture).map(|answer| match answer {
                Answer::Picture(picture) => {
                    vec![ControlReply::Snapshot(Box::new(self.snapshot(&picture)))]
                }
                _ => Vec::new(),
            }),
            ControlRequest::Roll => self.done(Command::Roll),
            ControlRequest::Stages => self.stages().map(|stages| vec![stages]),
            ControlRequest::Outliers { since_ns } => {
                self.outliers(since_ns.map(Nanos)).map(|outliers| vec![outliers])
            }
            ControlRequest::Limits => self.ask(Command::Usage).map(|answer| match answer {
                Answer::Usage(usage) => {
                    let lines = usage.lines(&self.file, &self.rules);
                    in_parts(&lines, LimitLine::clone, |limits, more| ControlReply::Limits {
                        limits,
                        more,
                    })
                }
                _ => Vec::new(),
            }),
            ControlRequest::Reload => match self.reload() {
                Some(reloaded) => reloaded.map(|changes| vec![ControlReply::Reloaded { changes }]),
                None => {
                    if let Some(connection) = self.connections.get_mut(at) {
                        connection.awaits_reload = true;
                    }
                    Ok(Vec::new())
                }
            },
            ControlRequest::Kill { scope } => {
                let scope = self.names().scope(&scope);
                scope.and_then(|scope| self.done(Command::Kill(scope)))
            }
            ControlRequest::Revive { scope } => self.revive(&scope),
            ControlRequest::Alive => self.ask(Command::Alive).and_then(|answer| match answer {
                Answer::Done(true) => Ok(vec![ControlReply::Done]),
                _ => Err("nobody need say so: [risk] has no operator_dead_man_ms".to_owned()),
            }),
            ControlRequest::CancelAll { filter } => {
                let filter = self.names().filter(&filter);
                filter.and_then(|filter| self.done(Command::CancelAll(filter)))
            }
            ControlRequest::Drop { strategy } => self.drop_strategy(&strategy),
            ControlRequest::HandOver { from, to } => self.hand_over(&from, &to),
            ControlRequest::Stop => {
                self.is_stopping = true;
                self.done(Command::Stop)
            }
        };
        match replied {
            Ok(replies) => replies.into_iter().map(|reply| (reply, Vec::new())).collect(),
            Err(text) => vec![failed(text)],
        }
    }

    fn done(&mut self, command: Command) -> Result<Vec<ControlReply>, String> {
        self.ask(command).map(|_| vec![ControlReply::Done])
    }

    const fn names(&self) -> Names<'_> {
        Names { file: &self.file, instruments: self.instruments.as_slice() }
    }

    fn revive(&mut self, scope: &ScopeName) -> Result<Vec<ControlReply>, String> {
        let number = self.names().scope(scope)?;
        match self.ask(Command::Revive(number))? {
            Answer::Done(false) if *scope != ScopeName::All => {
                Err(format!("{scope} is not killed"))
            }
            _ => Ok(vec![ControlReply::Done]),
        }
    }

    fn owner(&self, name: &str) -> Result<Owner, String> {
        let known = self.file.strategy(name).map(|strategy| strategy.owner());
        known.ok_or_else(|| self.file.unknown_strategy(name))
    }

    fn attach(&mut self, at: usize, name: &str) -> Result<(ControlReply, Vec<OwnedFd>), String> {
        let owner = self.owner(name)?;
        if let Some(fused) = &self.fused {
            return Err(format!("'{fused}' trades in this gateway's thread, and nobody attaches"));
        }
        let is_attached = |place: &Place<'_>| place.strategy.as_deref() == Some(name);
        if self.places.iter().any(is_attached) {
            return Err(format!(
                "'{name}' is attached already; two of one name would be told of each other's \
                 orders"
            ));
        }
        if self.connections.get(at).is_some_and(|connection| connection.place.is_some()) {
            return Err("this connection is attached already".to_owned());
        }
        let is_vacant = |place: &usize| self.connections.iter().all(|it| it.place != Some(*place));
        let vacant = (0..self.places.len()).find(is_vacant);
        let count = self.places.len();
        let vacant = vacant.ok_or_else(|| format!("all {count} places are taken"))?;
        if let Some(place) = self.places.get(vacant) {
            place.clear();
        }
        match self.ask(Command::Attach(vacant, owner)) {
            Ok(Answer::Done(true)) => {}
            Ok(_) => {
                return Err(format!(
                    "the orders that '{name}' left are being cancelled; try again"
                ));
            }
            Err(text) => {
                // It may get the place after all, and nobody would know.
                let _ = self.ask(Command::Detach(vacant));
                return Err(text);
            }
        }
        let place = self.places.get_mut(vacant).ok_or("the place is gone")?;
        place.strategy = Some(name.to_owned());
        if let Some(connection) = self.connections.get_mut(at) {
            connection.place = Some(vacant);
        }
        self.tell(&say::StrategyAttached {}, format!("strategy '{name}' is attached"));
        let place = self.places.get(vacant).ok_or("the place is gone")?;
        let fds =
            [self.segment.as_fd(), place.segment.as_fd(), self.bell.as_fd(), place.bell.as_fd()];
        let fds: Result<Vec<OwnedFd>, _> = fds.iter().map(BorrowedFd::try_clone_to_owned).collect();
        let fds = fds.map_err(|error| error.to_string())?;
        let wake_gateway = self.file.waits() == Wait::Block;
        Ok((ControlReply::Attached { wake_gateway }, fds))
    }

    /// Nothing of it is asked of the thread that trades.
    fn observe(&self) -> Result<Vec<(ControlReply, Vec<OwnedFd>)>, String> {
        let reply = |instruments, more| ControlReply::Observed { instruments, more };
        let replies = in_parts(&self.instruments, InstrumentLine::of, reply);
        let with_fd = |reply| match self.segment.read_only_fd() {
            Ok(fd) => Ok((reply, vec![fd])),
            Err(error) => Err(error.to_string()),
        };
        replies.into_iter().map(with_fd).collect()
    }

    fn book(&mut self, symbol: &str) -> Result<ControlReply, String> {
        let instrument = self.instruments.iter().find(|it| it.symbol().as_str() == symbol);
        let instrument = instrument.map(Instrument::id).ok_or_else(|| {
            format!("no instrument '{symbol}'; `status` and the settings have their symbols")
        })?;
        let Answer::Book(book) = self.ask(Command::Book(instrument))? else {
            return Err("the gateway answered something else".to_owned());
        };
        let BookPicture { position, is_sound, levels } = *book;
        let plain = |levels: Vec<(Price, Lots)>| {
            levels.into_iter().map(|(price, lots)| (price.0, lots.0)).collect()
        };
        let ([bids, asks], instrument) = (levels.map(plain), instrument.0);
        let lines = BookLines { instrument, position, is_sound, bids, asks };
        Ok(ControlReply::Book(Box::new(lines)))
    }

    fn drop_strategy(&mut self, name: &str) -> Result<Vec<ControlReply>, String> {
        self.owner(name)?;
        if self.fused.as_deref() == Some(name) {
            let remedy = "`kill` stops its orders, `stop` ends both";
            return Err(format!("'{name}' trades in the gateway's thread: {remedy}"));
        }
        let of = |place: &Place<'_>| place.strategy.as_deref() == Some(name);
        let place = self.places.iter().position(of);
        let place = place.ok_or_else(|| format!("'{name}' is not attached"))?;
        let dropped = self.done(Command::Evict(place));
        self.end_attachment(place);
        dropped
    }

    fn hand_over(&mut self, from: &str, to: &str) -> Result<Vec<ControlReply>, String> {
        let (of, heir) = (self.owner(from)?, self.owner(to)?);
        if self.fused.as_deref().is_some_and(|fused| fused != to) {
            return Err(format!("nobody attaches here: '{to}' would not come for the orders"));
        }
        match self.ask(Command::HandOver(of, heir)) {
            Ok(Answer::HandedOver(0)) => Err(format!("'{from}' has no open order")),
            Ok(Answer::HandedOver(count)) => {
                let words = format!("{count} open orders of '{from}' are those of '{to}' now");
                self.tell(&say::HandedOver {}, words);
                Ok(vec![ControlReply::Done])
            }
            Ok(_) => Ok(Vec::new()),
            Err(text) => Err(format!("'{from}': {text}")),
        }
    }

    fn status(&self, glance: Box<Glance>) -> ControlReply {
        let strategies = self.file.strategies.iter().map(|strategy| {
            let has = |place: &Place<'_>| place.strategy.as_deref() == Some(&strategy.name);
            let place = self.places.iter().zip(&glance.attached).find(|(place, _)| has(place));
            let counters = place.map_or_else(<_>::default, |(place, _)| place.counters());
            // Before its first round of housekeeping it has said nothing.
            let has_read = counters.beats > 0;
            let behind = glance.market_position.saturating_sub(counters.position);
            let is_fused = self.fused.as_ref() == Some(&strategy.name);
            StrategyLine {
                name: strategy.name.clone(),
                user: strategy.user,
                strategy: strategy.number,
                attached: is_fused || place.is_some_and(|(_, is_attached)| *is_attached),
                lag: if has_read { behind } else { 0 },
                lapped: counters.lapped,
                full: counters.full,
                dropped: self.dropped.get(&strategy.name).copied().unwrap_or(0),
            }
        });
        let (priority, address) = glance.order_address;
        let [order_refusal, market_data_refusal] = glance.refusals;
        let own = utc() - monotonic();
        let venue_clock = glance.venue_clock.map(|clock| VenueClockLine {
            ahead_us: (clock.ahead - own).0 / 1_000,
            round_trip_us: clock.round_trip.0 / 1_000,
            jumps: clock.jumps,
        });
        ControlReply::Status(Box::new(Status {
            name: self.file.name.clone(),
            process: process_id(),
            thread: self.thread.and_then(OnceLock::get).copied().unwrap_or(0),
            venue: self.file.venue_name().to_owned(),
            up_seconds: monotonic().since(self.started).0.unsigned_abs() / 1_000_000_000,
            order_entry: glance.order_entry,
            order_address: address.inet().map_or_else(String::new, |it| it.to_string()),
            order_priority: priority,
            order_refusal,
            market_data_refusal,
            venue_clock,
            paper: self.file.is_paper,
            books_sound: glance.books_sound,
            stale_books: self.stale_books(&glance.stale_books),
            uncompared: glance.uncompared.iter().map(|id| self.symbol(*id)).collect(),
            killed: !glance.killed.is_empty(),
            latches: self.latch_lines(&glance.killed),
            instruments: self.instruments.len(),
            open_orders: glance.open_orders,
            strategies: strategies.collect(),
            position_differences: glance.position_differences,
            counters: glance.counters,
        }))
    }

    fn symbol(&self, id: InstrumentId) -> String {
        let found = self.instruments.iter().find(|it| it.id() == id);
        found.map_or_else(|| format!("instrument {}", id.0), |it| it.symbol().to_string())
    }

    fn stale_books(&self, stale: &[(InstrumentId, Staleness)]) -> Vec<StaleBook> {
        let named = |&(id, why): &(_, Staleness)| (self.symbol(id), why.to_string());
        let books = stale.iter().map(named);
        books.map(|(symbol, reason)| StaleBook { symbol, reason }).collect()
    }

    fn latch_lines(&self, killed: &[(Latched, Option<Nanos>)]) -> Vec<LatchLine> {
        let line = |(latched, since): &(Latched, Option<Nanos>)| LatchLine {
            scope: self.names().of(latched.scope),
            cause: latched.cause.to_string(),
            since_ns: since.map(|since| since.0),
        };
        killed.iter().map(line).collect()
    }

    fn orders(&self, orders: &[(Owner, OpenOrder)]) -> Vec<ControlReply> {
        let line = |order: &(Owner, OpenOrder)| self.order_line(order);
        in_parts(orders, line, |orders, more| ControlReply::Orders { orders, more })
    }

    fn order_line(&self, (owner, order): &(Owner, OpenOrder)) -> OrderLine {
        let instrument = self.instruments.get(order.terms.instrument.0 as usize);
        let qty = |lots| {
            instrument
                .and_then(|instrument| instrument.qty(lots).ok())
                .map_or_else(|| "?".to_owned(), |qty| qty.to_string())
        };
        let text = RequestId::create(order.id).to_text();
        OrderLine {
            id: String::from_utf8_lossy(&text).into_owned(),
            strategy: self.name_of(*owner),
            symbol: symbol(instrument),
            account: order.terms.account.0,
            side: if order.terms.side == Side::Buy { "buy" } else { "sell" }.to_owned(),
            price: order.terms.price.to_string(),
            quantity: qty(order.terms.lots),
            open: qty(order.lots_open),
            state: format!("{:?}", order.state),
        }
    }

    fn positions(&self, held: &[PositionReport]) -> Vec<ControlReply> {
        let line = |held: &PositionReport| self.position_line(held);
        in_parts(held, line, |positions, more| ControlReply::Positions { positions, more })
    }

    fn position_line(&self, held: &PositionReport) -> PositionLine {
        let PositionKey { user, strategy, .. } = held.key;
        PositionLine::of(held, self.name_of(Owner { user, strategy }), &self.instruments)
    }

    fn name_of(&self, owner: Owner) -> String {
        let known = self.file.strategies.iter().find(|strategy| strategy.owner() == owner);
        known.map_or_else(
            || format!("{}/{}", owner.user.0, owner.strategy.0),
            |strategy| strategy.name.clone(),
        )
    }
}

impl Connection {
    const fn new(channel: Channel) -> Self {
        Self { channel, place: None, is_over: false, awaits_reload: false }
    }
}

/// Says what the strategies of a file are called.
fn tell_names(news: &Sender<DropCopyNews>, file: &GatewayFile) {
    for strategy in &file.strategies {
        // Nobody listens where there are no drop copies.
        let _ = news.send(DropCopyNews::Name(strategy.owner(), strategy.name.clone()));
    }
}

fn symbol(instrument: Option<&Instrument>) -> String {
    instrument.map_or_else(|| "?".to_owned(), |instrument| instrument.symbol().to_string())
}

fn failed(text: String) -> (ControlReply, Vec<OwnedFd>) {
    (ControlReply::Failed { text }, Vec::new())
}
