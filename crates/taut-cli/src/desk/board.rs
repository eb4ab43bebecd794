//! What pages are told: all gateways once a second, what happened to them, and what came of their
//! own requests.

use std::collections::HashMap;
use std::sync::mpsc::{self, Receiver, Sender};

use serde::Serialize;
use serde_json::json;
use taut_io::Handle;
use taut_runner::RunnerError;
use taut_runner::service::{ControlClient, ControlRequest, ScopeName};

use super::access::Role;
use super::events::Events;
use super::history::History;
use super::http::Answer;
use super::lives::Lives;
use super::runs::Runs;
use super::tape::Tapes;
use crate::observed::Observed;
use crate::observed::model::Snapshot;

/// Whose page asked.
pub type WhoAsked = Handle;

/// Requests to gateways at a time, each on a thread of its own.
const ASKED_MAX: usize = 8;
/// After so many looks freed memory is given back.
const GIVE_BACK: u64 = 60;
/// Refusals that wait to be told.
const REFUSED_MAX: usize = 64;
/// Books of a gateway that are followed to their depth: those that pages looked at last, and to
/// begin with the first ones.
const FOLLOWED_MAX: usize = 8;

/// What is shown.
#[derive(Debug)]
pub struct Board {
    observed: Observed,
    tapes: Tapes,
    history: History,
    events: Events,
    runs: Runs,
    lives: Lives,
    /// The last look, and its JSON.
    seen: Snapshot,
    text: String,
    number: u64,
    /// By gateway, the latest last.
    followed: HashMap<String, Vec<String>>,
    /// Of those who ask gateways.
    answers: (Sender<AnswerTo>, Receiver<AnswerTo>),
    asked: usize,
    refused: Vec<(WhoAsked, Answered)>,
}

/// What a gateway answered, and to whom.
type AnswerTo = (WhoAsked, Answered);

/// What came of a page's request.
#[derive(Clone, Debug, Serialize)]
pub struct Answered {
    kind: &'static str,
    gateway: String,
    is_done: bool,
    text: String,
}

/// A look as pages have it.
#[derive(Serialize)]
struct Look<'l, T> {
    number: u64,
    snapshot: &'l Snapshot,
    trades: T,
}

impl Board {
    /// Of these gateways, or of all, of the runs in a folder and of orders in journals: as they are
    /// now.
    pub fn new(observed: Observed, runs: Runs, lives: Lives) -> Self {
        let mut board = Self {
            observed,
            tapes: Tapes::default(),
            history: History::default(),
            events: Events::default(),
            runs,
            lives,
            seen: Snapshot::default(),
            text: String::new(),
            number: 0,
            followed: HashMap::new(),
            answers: mpsc::channel(),
            asked: 0,
            refused: Vec::new(),
        };
        board.look();
        board
    }

    /// What is asked for beside the page and its figures: finished runs, and lives of orders.
    pub fn answer(&mut self, path: &str) -> Option<Answer> {
        self.runs.answer(path).or_else(|| self.lives.answer(path))
    }

    /// Looks at all gateways.
    pub fn look(&mut self) {
        self.observed.look();
        self.seen = self.observed.snapshot();
        self.number += 1;
        self.history.add(&self.seen);
        self.events.compare(&self.seen);
        self.tapes.read(&self.seen);
        let is_seen = |name: &String| self.seen.gateways.iter().any(|it| it.name == *name);
        self.followed.retain(|name, _| is_seen(name));
        let (number, snapshot) = (self.number, &self.seen);
        let look = Look { number, snapshot, trades: self.tapes.latest() };
        self.text = text(&look);
        if self.number.is_multiple_of(GIVE_BACK) {
            // A look is made by several threads, each with memory of its own for it.
            taut_sys::return_freed_memory();
        }
    }

    /// The last look.
    pub fn snapshot(&self) -> String {
        self.text.clone()
    }

    /// What a page is told when it comes: all that it needs to draw what was before.
    pub fn hello(&self, role: Role, asks: bool) -> (String, u64) {
        let (events, next_event) = self.events.since(0);
        let hello = json!({
            "kind": "hello", "version": env!("CARGO_PKG_VERSION"), "role": role,
            "asks_for_tokens": asks, "events": events, "history": self.history.told(),
            "journals": self.lives.gateways(),
        });
        let hello = text(&hello);
        // The look is text already: it becomes the last key.
        let head = hello.strip_suffix('}').unwrap_or(&hello);
        (format!("{head},\"look\":{}}}", self.text), next_event)
    }

    /// The last look, with the events from this number on; and the number of the next one.
    pub fn told_since(&self, event: u64) -> (String, u64) {
        let (events, next_event) = self.events.since(event);
        let events = text(&events);
        (format!("{{\"kind\":\"look\",\"events\":{events},\"look\":{}}}", self.text), next_event)
    }

    /// Has a book followed to its depth.
    pub fn follow(&mut self, gateway: &str, symbol: &str) {
        let Some(seen) = self.seen.gateways.iter().find(|it| it.name == gateway) else { return };
        if seen.instruments.iter().all(|it| it.symbol != symbol) {
            return;
        }
        let first = || {
            let symbols = seen.instruments.iter().map(|it| it.symbol.clone());
            symbols.take(FOLLOWED_MAX).collect()
        };
        let symbols = self.followed.entry(gateway.to_owned()).or_insert_with(first);
        symbols.retain(|it| it != symbol);
        symbols.push(symbol.to_owned());
        if symbols.len() > FOLLOWED_MAX {
            symbols.remove(0);
        }
        self.observed.follow(gateway, symbols);
    }

    /// Does not do what a page asked for.
    pub fn refuse(&mut self, who: WhoAsked, gateway: &str, words: &str) {
        // Who asks faster than it is answered is not answered each time.
        if self.refused.len() < REFUSED_MAX {
            self.refused.push((who, Answered::new(gateway, Err(words.to_owned()))));
        }
    }

    /// Throws the kill switch of a gateway, or takes it back. It waits for no look, and a gateway
    /// that does not answer holds nobody up.
    pub fn kill(&mut self, who: WhoAsked, gateway: &str, is_revival: bool) {
        if self.seen.gateways.iter().all(|it| it.name != gateway) {
            return self.refuse(who, gateway, "no gateway of this name is seen");
        }
        if self.asked >= ASKED_MAX {
            return self.refuse(who, gateway, "too many requests are under way; try again");
        }
        let (name, sender) = (gateway.to_owned(), self.answers.0.clone());
        let ask = move || {
            let said = ask_to_kill(&name, is_revival).map_err(|error| error.to_string());
            // A desk that has ended needs no answer.
            let _ = sender.send((who, Answered::new(&name, said)));
        };
        let thread = std::thread::Builder::new().name("taut-desk-ask".to_owned()).spawn(ask);
        if thread.is_err() {
            return self.refuse(who, gateway, "no thread for it: use `taut gateway kill`");
        }
        self.asked += 1;
        let what = if is_revival { "revive" } else { "kill" };
        self.events.add(gateway, "control", format!("{what} asked for by a page of the desk"));
    }

    /// What came of requests since the last call.
    pub fn answers(&mut self) -> Vec<(WhoAsked, String)> {
        let answered: Vec<_> = self.answers.1.try_iter().collect();
        self.asked = self.asked.saturating_sub(answered.len());
        for (_, it) in &answered {
            self.events.add(&it.gateway, "control", it.text.clone());
        }
        let all = self.refused.drain(..).chain(answered);
        all.map(|(who, answered)| (who, text(&answered))).collect()
    }
}

impl Answered {
    fn new(gateway: &str, said: Result<String, String>) -> Self {
        let is_done = said.is_ok();
        let text = said.unwrap_or_else(|why| why);
        Self { kind: "answer", gateway: gateway.to_owned(), is_done, text }
    }
}

fn ask_to_kill(gateway: &str, is_revival: bool) -> Result<String, RunnerError> {
    let scope = ScopeName::All;
    let (request, done) = match is_revival {
        true => (ControlRequest::Revive { scope }, "revived: new orders may pass"),
        false => (
            ControlRequest::Kill { scope },
            "killed: no new order passes, and the open ones are being cancelled",
        ),
    };
    ControlClient::connect(gateway)?.ask(&request)?;
    Ok(done.to_owned())
}

/// Our own plain types always have a text.
fn text(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_else(|_| "null".to_owned())
}
