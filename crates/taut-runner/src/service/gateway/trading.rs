//! The thread that trades, whichever venue it is at.

use std::collections::BTreeSet;
use std::net::SocketAddrV4;
use std::os::fd::AsFd;
use std::sync::mpsc::{Receiver, Sender};

use taut_gateway::{
    FeedSockets, GatewayError, NewInstrument, OpenOrder, OrderFilter, OrderWriter, Owner, SlotId,
};
use taut_journal::{ATTENTION, HOUSEKEEPING, State, TURN};
use taut_market_data::{Soundness, Source};
use taut_oms::{KillCause, KillScope};
use taut_sync::atomic::{AtomicU64, Ordering};
use taut_sys::{Doorbell, Wait, Waiter, pin_to_cpu, set_timer_slack, tape, utc, wait_readable};
use taut_types::Nanos;

use crate::child::SharedClock;
use crate::error::RunnerError;
use crate::mistakes::{self, Mistake};
use crate::recording::{self, Recorder};
use crate::service::balances::balances;
use crate::service::connections::{Served, names};
use crate::service::day::DayEnd;
use crate::service::dead_men::{Step, Watch, Watched};
use crate::service::differences::Differences;
use crate::service::ended::ended;
use crate::service::file::GatewayFile;
use crate::service::resolver::{Moved, follow};
use crate::service::threads::{
    About, Answer, BookPicture, Command, Glance, Numbered, Picture, UNASKED,
};
use crate::service::usage::Usage;
use crate::settings::build_fees;

use super::any::AnyGateway;
use super::asked::{self, Asked, kills, moved, now};
use super::strategies::Attachable;

/// Rounds with work after which housekeeping is looked at all the same.
const BUSY_ROUNDS: u32 = 256;
/// How long the session may take to log out.
const LOGOUT: Nanos = Nanos::from_secs(5);
/// How often orders without a strategy are cancelled where the client does not see to it: a cancel
/// may be refused.
const CANCEL_AGAIN: Nanos = Nanos::from_millis(100);

/// A gateway that was built, and what goes with it.
pub struct Built<'m> {
    pub gateway: Box<dyn AnyGateway + Send + 'm>,
    /// The places of strategies that may attach.
    pub slots: Vec<SlotId>,
    pub shared_clock: SharedClock<'m>,
    /// Where its orders go.
    pub orders: SocketAddrV4,
    /// Where its market data arrive, too, and when they are taken from there.
    pub feed_backup: Option<(FeedSockets, Nanos)>,
}

/// The thread that trades.
pub struct Trading<'a, 'm> {
    wait: Wait,
    cpu: Option<usize>,
    orders: SocketAddrV4,
    gateway: Box<dyn AnyGateway + Send + 'm>,
    slots: Vec<SlotId>,
    shared_clock: SharedClock<'m>,
    bell: &'a Doorbell,
    asked: Receiver<Numbered<Command>>,
    answers: Sender<Numbered<Answer>>,
    /// Where the venue's names are, whenever they were looked up again.
    moved: Receiver<Moved>,
    /// Tried behind those of the name that orders go to.
    backups: Vec<SocketAddrV4>,
    /// Logged out by then, or not at all.
    ends_by: Option<Nanos>,
    /// The venue was asked to end the session.
    is_leaving: bool,
    /// Orders that were open when the end began.
    open_before: usize,
    /// When orders are cancelled whose strategies have not attached since the start.
    orphans_due: Option<Nanos>,
    /// Who is to show signs of life.
    watch: Watch,
    day_ends: Option<DayEnd>,
    /// Kills that signals asked for.
    kills: u32,
    differences: Differences,
    /// The file of the last reload.
    reloaded: Option<Box<GatewayFile>>,
    /// Writes down what is heard.
    recorder: Option<Recorder>,
    /// What nobody is to read there.
    secrets: Vec<Vec<u8>>,
    /// Rounds of housekeeping, for who looks whether it lives.
    beats: Option<&'a AtomicU64>,
}

impl<'a, 'm> Trading<'a, 'm> {
    pub fn open(
        file: &GatewayFile,
        built: Built<'m>,
        journal: Option<(OrderWriter, State)>,
        bell: &'a Doorbell,
        (asked, answers): (Receiver<Numbered<Command>>, Sender<Numbered<Answer>>),
    ) -> Result<Self, RunnerError> {
        let Built { mut gateway, slots, shared_clock, orders, feed_backup } = built;
        gateway.set_fees(&build_fees(&file.instruments)?);
        let balances = balances(file);
        gateway.follow_balances(balances.map_err(|wrong| {
            let wrong: Vec<_> = wrong.into_iter().map(Mistake::from).collect();
            mistakes::error(&wrong)
        })?);
        if let Some((sockets, after)) = feed_backup {
            let added = gateway.add_feed_backup(sockets, after);
            added.map_err(|error| failed(error, orders))?;
        }
        let reattach = journal.is_some().then(|| file.reattach()).flatten();
        if let Some((writer, recovered)) = journal {
            let resumed = gateway.resume(writer, &recovered);
            resumed.map_err(|error| failed(error, orders))?;
        }
        let watched = file.watched();
        gateway.client_mut().set_when_gone(watched.when_gone);
        // Where a run is done again nobody is asked.
        let names = if tape::is_reading() { Vec::new() } else { names(file) };
        Ok(Self {
            differences: Differences::new(file, gateway.instruments()),
            wait: file.waits(),
            cpu: file.cpu,
            orders,
            gateway,
            watch: Watch::new(watched.dead_men, slots.len()),
            slots,
            shared_clock,
            bell,
            asked,
            answers,
            moved: follow(names)?,
            backups: file.session.backups.clone(),
            ends_by: None,
            is_leaving: false,
            open_before: 0,
            day_ends: watched.day_ends,
            kills: kills(),
            reloaded: None,
            recorder: None,
            secrets: Vec::new(),
            beats: None,
            orphans_due: reattach.map(|span| now() + span),
        })
    }

    /// Has all that is heard written down from here on: the turn in which it was built is over.
    pub fn record(&mut self, mut recorder: Recorder) {
        recorder.end(TURN, true, self.gateway.journal());
        (self.recorder, self.secrets) = (Some(recorder), tape::withheld());
    }

    /// Its rounds of housekeeping are counted there.
    pub const fn count_beats(&mut self, beats: &'a AtomicU64) {
        self.beats = Some(beats);
    }

    /// The gateway, to prepare it.
    pub fn gateway(&mut self) -> &mut (dyn AnyGateway + Send + 'm) {
        &mut *self.gateway
    }

    /// Trades until it is over, and says how it ended.
    pub fn run(mut self) -> Result<String, RunnerError> {
        self.secrets.iter().for_each(|secret| tape::withhold(secret));
        let traded = self.trade();
        let Some(mut recorder) = self.recorder.take() else { return traded };
        recorder.note_state(&self.gateway.state(), self.gateway.journal());
        let recorded = recorder.finish(self.gateway.close_journal());
        let how = traded?;
        Ok(recorded?.map_or(how.clone(), |what| format!("{how}; {what}")))
    }

    fn trade(&mut self) -> Result<String, RunnerError> {
        self.attended(|it| {
            it.arm_operator();
            tape::mark_effect();
            Ok(())
        })?;
        if let Some(cpu) = self.cpu {
            pin_to_cpu(cpu).map_err(|error| RunnerError::run("pinning", error))?;
        }
        set_timer_slack(Nanos(1)).map_err(|error| RunnerError::run("timer slack", error))?;
        let mut waiter = Waiter::new(self.wait);
        let mut busy_rounds = 0;
        loop {
            if self.turn(TURN, |gateway| gateway.poll())? {
                waiter.worked();
                busy_rounds += 1;
                if busy_rounds < BUSY_ROUNDS {
                    continue;
                }
            } else {
                waiter.idle(|span| {
                    // What it says is looked at anyway.
                    let bell = self.bell.as_fd();
                    let sources = self.gateway.fd().unwrap_or(bell);
                    let _ = wait_readable(&[sources, bell], Some(span));
                    self.bell.silence();
                });
            }
            busy_rounds = 0;
            if self.turn(HOUSEKEEPING, |gateway| gateway.housekeeping())? {
                if let Some(beats) = self.beats {
                    // Relaxed: nothing but that it counts is looked at.
                    beats.fetch_add(1, Ordering::Relaxed);
                }
                self.refresh_clock();
                if self.attended(Self::look_after)? {
                    return Ok(self.how_it_ended());
                }
                self.look_after_recorder()?;
            }
        }
    }

    /// What is done between two rounds of the gateway's own housekeeping; whether it is all over.
    pub(super) fn look_after(&mut self) -> Result<bool, RunnerError> {
        self.heed_kill_signals()?;
        self.look_for_life();
        self.end_day();
        self.cancel_orphans()?;
        self.tell_positions();
        self.attend()
    }

    fn how_it_ended(&self) -> String {
        let orders = ended(self.open_before, self.count_open());
        let session = match self.gateway.is_logged_out() {
            true => "logged out",
            false => "not logged out",
        };
        format!("{orders}, {session}")
    }

    #[inline]
    fn turn(
        &mut self,
        kind: u16,
        turn: impl FnOnce(&mut dyn AnyGateway) -> Result<bool, GatewayError>,
    ) -> Result<bool, RunnerError> {
        let failed = |error| failed(error, self.orders);
        let Some(recorder) = &mut self.recorder else {
            return turn(&mut *self.gateway).map_err(failed);
        };
        recorder.begin(kind);
        let worked = turn(&mut *self.gateway);
        // Of the turn that ended it, all is to be known.
        recorder.end(kind, worked != Ok(false), self.gateway.journal());
        worked.map_err(failed)
    }

    /// Does what is no turn of the gateway's, under the eyes of the recorder: it is kept when it
    /// says that it did something.
    fn attended<T>(
        &mut self,
        act: impl FnOnce(&mut Self) -> Result<T, RunnerError>,
    ) -> Result<T, RunnerError> {
        if let Some(recorder) = &self.recorder {
            recorder.begin(ATTENTION);
        }
        let done = act(self);
        if let Some(recorder) = &mut self.recorder {
            recorder.end(ATTENTION, done.is_err(), self.gateway.journal());
        }
        done
    }

    fn refresh_clock(&mut self) {
        let before = self.gateway.clock_mut().mapping().to_words();
        self.shared_clock.refresh(self.gateway.clock_mut());
        let words = self.gateway.clock_mut().mapping().to_words();
        if let Some(recorder) = &mut self.recorder
            && words != before
        {
            recorder.begin_command();
            recorder.end_command(recording::Command::Clock(words), self.gateway.journal());
        }
    }

    /// Now and then, what it has come to is written down. One that cannot be recorded ends, where
    /// its settings say so.
    fn look_after_recorder(&mut self) -> Result<(), RunnerError> {
        let Some(recorder) = &mut self.recorder else { return Ok(()) };
        if recorder.count_round() {
            recorder.note_state(&self.gateway.state(), self.gateway.journal());
        }
        if recorder.take_stop() {
            let line = "the recording takes no more: the gateway ends, as [record] when_full = \
                        \"stop\" says";
            let _ = self.answers.send((UNASKED, Answer::Told(About::Recording, line.to_owned())));
            self.answer(Command::Stop);
        }
        Ok(())
    }

    /// SIGUSR1 kills everything.
    fn heed_kill_signals(&mut self) -> Result<(), RunnerError> {
        let kills = kills();
        if std::mem::replace(&mut self.kills, kills) == kills {
            return Ok(());
        }
        tape::mark_effect();
        let killed = self.gateway.kill(KillScope::All, KillCause::Signal);
        killed.map(drop).map_err(|error| failed(error, self.orders))
    }

    pub(super) fn arm_operator(&mut self) {
        if let Some(interval) = self.watch.operator() {
            self.gateway.arm(KillScope::All, interval);
        }
    }

    /// Strategies that live have their timers started anew.
    fn look_for_life(&mut self) {
        if !self.watch.is_needed() {
            return;
        }
        for (place, slot) in self.slots.iter().enumerate() {
            let hub = self.gateway.client();
            let step = self.watch.look(place, hub.owner(*slot), || hub.beats(*slot));
            if step.is_some() {
                tape::mark_effect();
            }
            match step {
                Some(Step::Arm(scope, interval)) => _ = self.gateway.arm(scope, interval),
                Some(Step::KeepAlive(scope)) => self.gateway.keep_alive(scope),
                Some(Step::Disarm(scope)) => self.gateway.disarm(scope),
                None => {}
            }
        }
    }

    /// A day that is over is settled, also one that ended while there was no gateway.
    fn end_day(&mut self) {
        let Some(ends) = self.day_ends else { return };
        let (day, last) = (ends.day_of(utc()), self.gateway.day());
        if last == 0 {
            tape::mark_effect();
            self.gateway.begin_day(day);
        } else if day > last {
            tape::mark_effect();
            self.roll(Some(day));
        }
    }

    fn roll(&mut self, day: Option<u32>) {
        let mut picture = self.picture();
        picture.positions.clear();
        self.gateway.roll_day(day, &mut |closed| picture.positions.push(*closed));
        let _ = self.answers.send((UNASKED, Answer::Rolled(Box::new(picture))));
    }

    /// Every open order, and whose it is.
    fn open_orders(&self) -> Vec<(Owner, OpenOrder)> {
        let mut orders = Vec::new();
        let owner_of = |order: &OpenOrder| self.gateway.owner_of(order.id);
        self.gateway.visit_orders(&mut |order| orders.push((owner_of(order), *order)));
        orders
    }

    fn picture(&self) -> Picture {
        let orders = self.open_orders();
        Picture {
            utc: utc(),
            positions: self.gateway.positions(),
            orders,
            balances: self.gateway.balances(),
            killed: self.gateway.killed(),
        }
    }

    /// Orders that were recovered have waited for their strategies for long enough: they are
    /// another one's, where the settings say so, or cancelled.
    fn cancel_orphans(&mut self) -> Result<(), RunnerError> {
        let is_due = self.orphans_due.is_some_and(|due| now() >= due);
        if !is_due || self.gateway.counters().logged_on == 0 {
            return Ok(());
        }
        tape::mark_effect();
        self.orphans_due = None;
        let mut owners: BTreeSet<Owner> =
            self.open_orders().into_iter().map(|(owner, _)| owner).collect();
        let client = self.gateway.client();
        let attached: Vec<Owner> =
            self.slots.iter().filter_map(|slot| client.owner(*slot)).collect();
        let is_there =
            |owner: &Owner| attached.contains(owner) || client.resident() == Some(*owner);
        owners.retain(|owner| !is_there(owner));
        for owner in owners {
            if self.gateway.client_mut().bequeath(owner) {
                continue;
            }
            let cancelled = self.gateway.cancel_all(&owner.only(OrderFilter::ALL));
            cancelled.map_err(|error| failed(error, self.orders))?;
            // Until none of them is open.
            if !self.gateway.client_mut().disown(owner) {
                self.orphans_due = Some(now() + CANCEL_AGAIN);
            }
        }
        Ok(())
    }

    /// Says what comparing positions with the venue's came to, after a logon.
    fn tell_positions(&mut self) {
        let news = self.differences.news(self.gateway.position_comparisons());
        for line in news {
            // Whoever prints may have to wait for a terminal: the thread that trades does not.
            let _ = self.answers.send((UNASKED, Answer::Told(About::Positions, line)));
        }
    }

    /// The venue is at other addresses: the next attempt to connect goes there.
    fn move_along(&mut self) {
        while let Some(Moved { served, addresses }) = moved(&self.moved) {
            match served {
                Served::Orders => {
                    let backups = self.backups.iter().copied();
                    let all = addresses.into_iter().chain(backups).collect();
                    self.gateway.set_order_addresses(all);
                }
                Served::Questions => self.gateway.set_question_addresses(addresses),
                Served::Stream => self.gateway.set_stream_addresses(Source::LINE_A, addresses),
                Served::Snapshots => self.gateway.set_stream_addresses(Source::SNAPSHOT, addresses),
            }
        }
    }

    /// Answers what the listening thread asks; whether it is over.
    fn attend(&mut self) -> Result<bool, RunnerError> {
        self.move_along();
        self.report_dropped();
        if let Some(deadline) = self.ends_by {
            if self.gateway.is_logged_out() || now() >= deadline {
                tape::mark_effect();
                // It is in the journal, and nobody killed the next gateway.
                self.gateway.complete_end();
                return Ok(true);
            }
            // Cancels that wait for their budget go first.
            if !self.is_leaving && self.gateway.waiting_cancels() == 0 {
                self.is_leaving = true;
                tape::mark_effect();
                self.gateway.logout().map_err(|error| failed(error, self.orders))?;
            }
        }
        loop {
            let mut looks = Vec::new();
            let asked =
                asked::next(&self.asked, self.reloaded.as_deref(), &mut |look| looks.push(look));
            tape::outside(|| looks.into_iter().for_each(|look| self.answer_to(look)));
            match asked {
                Asked::Command(asked) => self.answer_to(*asked),
                Asked::Nothing => return Ok(false),
                Asked::Over => return Ok(true),
            }
        }
    }

    fn answer_to(&mut self, (number, command): Numbered<Command>) {
        let answer = self.answer(command);
        // Who does not listen any more is over, and is seen to be at the next look.
        let _ = self.answers.send((number, answer));
    }

    /// Strategies that left their replies unread are gone: the listening thread ends their
    /// connections.
    fn report_dropped(&mut self) {
        while let Some(dropped) = self.gateway.client_mut().poll_dropped() {
            if let Some(place) = self.slots.iter().position(|slot| *slot == dropped) {
                let _ = self.answers.send((UNASKED, Answer::Dropped(place)));
            }
        }
    }

    fn answer(&mut self, command: Command) -> Answer {
        let done = |acted: Result<(), GatewayError>| match acted {
            Ok(()) => Answer::Done(true),
            Err(error) => Answer::Failed(error.to_string()),
        };
        match command {
            Command::Attach(place, owner) => {
                let slot = self.slots.get(place).copied();
                let attach = |client: &mut dyn Attachable| {
                    slot.is_some_and(|slot| client.attach(slot, owner))
                };
                if attach(self.gateway.client_mut()) {
                    return Answer::Done(true);
                }
                // Whoever has just left the place has its orders cancelled, or handed over, and it
                // is free.
                match self.gateway.poll() {
                    Ok(_) => {
                        self.gateway.hand_over_of_the_gone();
                        Answer::Done(attach(self.gateway.client_mut()))
                    }
                    Err(error) => Answer::Failed(error.to_string()),
                }
            }
            Command::Detach(place) => {
                if let Some(slot) = self.slots.get(place).copied() {
                    self.gateway.client_mut().detach(slot);
                }
                Answer::Done(true)
            }
            Command::Evict(place) => {
                if let Some(slot) = self.slots.get(place).copied() {
                    self.gateway.client_mut().evict(slot);
                }
                Answer::Done(true)
            }
            Command::Status => Answer::Status(Box::new(self.glance())),
            Command::Orders => Answer::Orders(self.open_orders()),
            Command::Picture => Answer::Picture(Box::new(self.picture())),
            Command::Roll => {
                self.roll(None);
                Answer::Done(true)
            }
            Command::Positions => Answer::Positions(self.gateway.positions()),
            Command::Book(instrument) => Answer::Book(Box::new(BookPicture {
                position: self.gateway.client().market_position(),
                is_sound: self.gateway.soundness(instrument) == Soundness::Sound,
                levels: self.gateway.book_levels(instrument).unwrap_or_default(),
            })),
            Command::Usage => {
                let now = self.gateway.clock_mut().now();
                Answer::Usage(Box::new(Usage::of(self.gateway.risk(), now)))
            }
            Command::SetRules(rules, watched, file) => match self.gateway.set_rules(*rules) {
                Ok(()) => {
                    self.reloaded = Some(file);
                    let Watched { dead_men, day_ends, when_gone } = *watched;
                    self.day_ends = day_ends;
                    self.gateway.client_mut().set_when_gone(when_gone);
                    if dead_men != *self.watch.men() {
                        self.watch.replace(dead_men).for_each(|scope| self.gateway.disarm(scope));
                        self.arm_operator();
                    }
                    Answer::Done(true)
                }
                Err(error) => Answer::Failed(error.to_string()),
            },
            Command::AddInstrument(new) => self.add_instrument(&new),
            Command::Kill(scope) => done(self.gateway.kill(scope, KillCause::Command).map(drop)),
            Command::Revive(scope) => Answer::Done(self.gateway.revive(scope)),
            Command::Alive => {
                self.gateway.keep_alive(KillScope::All);
                Answer::Done(self.watch.operator().is_some())
            }
            Command::CancelAll(filter) => done(self.gateway.cancel_all(&filter)),
            Command::HandOver(from, to) => {
                let client = self.gateway.client();
                let is_there = client.resident() == Some(from)
                    || self.slots.iter().any(|slot| client.owner(*slot) == Some(from));
                // It would not be told that they are not its own any more.
                if is_there {
                    return Answer::Failed("it is attached, and would not be told".to_owned());
                }
                if self.gateway.is_killed(from) {
                    let remedy =
                        "it is killed, and its orders are being cancelled; revive it first";
                    return Answer::Failed(remedy.to_owned());
                }
                Answer::HandedOver(self.gateway.hand_over(from, to))
            }
            Command::Stop => {
                if self.ends_by.is_none() {
                    self.open_before = self.count_open();
                }
                self.ends_by = Some(now() + LOGOUT);
                self.gateway.client_mut().stop();
                done(self.gateway.begin_end())
            }
        }
    }

    /// Takes an instrument, unless it has it: who asked may not have heard the answer.
    fn add_instrument(&mut self, new: &NewInstrument) -> Answer {
        let place = new.instrument.id().0 as usize;
        if self.gateway.instruments().get(place) == Some(&new.instrument) {
            return Answer::Done(true);
        }
        match self.gateway.add_instrument(new) {
            Ok(()) => {
                self.differences.add_instrument(new.instrument);
                Answer::Done(true)
            }
            Err(error) => Answer::Failed(error.to_string()),
        }
    }

    fn count_open(&self) -> usize {
        let mut count = 0;
        self.gateway.visit_orders(&mut |_| count += 1);
        count
    }

    fn glance(&mut self) -> Glance {
        let open_orders = self.count_open();
        let client = self.gateway.client();
        let attached = self.slots.iter().map(|slot| client.owner(*slot).is_some()).collect();
        let market_position = client.market_position();
        let counters = self.gateway.counters();
        Glance {
            order_entry: counters.logged_on != 0,
            order_address: self.gateway.order_address(),
            refusals: self.gateway.refusals().map(str::to_owned),
            venue_clock: self.gateway.venue_clock(),
            books_sound: counters.live != 0,
            stale_books: self.gateway.stale_books(),
            uncompared: self.gateway.uncompared(),
            killed: self.gateway.killed(),
            open_orders,
            attached,
            market_position,
            position_differences: self.differences.lines(self.gateway.position_comparisons()),
            counters: counters.named().map(|(name, count)| (name.to_owned(), count)).to_vec(),
        }
    }
}

impl Drop for Trading<'_, '_> {
    /// One that never traded has its recording ended: no segment stays that was made ahead.
    fn drop(&mut self) {
        if let Some(recorder) = self.recorder.take() {
            let _ = recorder.finish(self.gateway.close_journal());
        }
    }
}

/// What ended the gateway, with the address where it is the address that may be wrong.
pub fn failed(error: GatewayError, orders: SocketAddrV4) -> RunnerError {
    match error {
        GatewayError::Unreachable(_) => RunnerError::Run(format!(
            "order entry at {orders}: {error}; does it run, and does [venue] orders name it?"
        )),
        other => RunnerError::Run(other.to_string()),
    }
}
