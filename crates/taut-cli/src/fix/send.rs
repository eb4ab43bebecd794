//! `taut fix send`: an initiator that sends messages from a file and prints what comes back.

use std::path::PathBuf;

use clap::Args;
use taut_fix::{Event, Extras, Fields, FixError, Misuse, Role, is_header_tag};
use taut_fix_engine::{Application, Initiator, Outbox, Received, SessionSettings};
use taut_io::{Completion, EpollKernel, Io, WaitStrategy};
use taut_types::Nanos;

use crate::event_loop;
use crate::exit::Failure;
use crate::fix::fields::copy;
use crate::fix::input::Input;
use crate::fix::messages::Found;
use crate::fix::serve::{load, settings_help};
use crate::terminal::{print, tell};

/// Tags that are the frame's.
const FRAME: [u32; 3] = [89, 93, 10];
/// One connection, the next one, and some to spare.
const SOURCES: usize = 8;
/// No more is handed to a connection that has so much to send.
const WAITING_BYTES_MAX: usize = 1 << 20;

#[derive(Args, Debug)]
#[command(after_long_help = settings_help())]
pub struct SendArguments {
    /// Application messages, with SOH, | or ^A between the fields; - for standard input, whose
    /// messages are sent as they come. Header and trailer are the session's: what the file says of
    /// them is left out.
    file: PathBuf,
    /// Where to connect; without it, to the addresses of the settings.
    #[arg(long, value_name = "HOST:PORT")]
    connect: Option<String>,
    /// The session, in TOML: `taut fix send --help` shows every key. `taut fix import` makes it
    /// from a QuickFIX settings file.
    #[arg(long, value_name = "FILE")]
    config: PathBuf,
    /// Which session, by its target_comp_id, when the settings have several.
    #[arg(long, value_name = "NAME")]
    target: Option<String>,
    /// Log out when nothing has come for so long.
    #[arg(long, value_name = "SECONDS", default_value_t = 1.0)]
    wait: f64,
    /// Give up when the session is not up after so long.
    #[arg(long, value_name = "SECONDS", default_value_t = 30.0)]
    patience: f64,
}

/// Logs on, sends, prints, logs out.
pub fn send(arguments: &SendArguments) -> Result<(), Failure> {
    let [wait, patience] = [("--wait", arguments.wait), ("--patience", arguments.patience)]
        .map(|(name, seconds)| span(name, seconds));
    let (wait, patience) = (wait?, patience?);
    let settings = choose(arguments)?;
    let input = Input::open(&arguments.file, settings.config.data_tags())?;
    let sender = Sender { input, sent: 0, last: None, is_leaving: false, cannot: None, end: None };
    let mut events = event_loop::open(SOURCES)?;
    let mut initiator = Initiator::start(events.io(), settings, sender)
        .map_err(|error| Failure::run("the session", error))?;
    let started = events.io().now();
    let mut run = Run { started, wait, patience, has_left: false, failure: None, end: None };
    let mut handler = |io: &mut Io<EpollKernel>, completion: Completion<'_>| {
        initiator.handle(io, &completion);
        run.look(io, &mut initiator);
    };
    event_loop::run(&mut events, &mut handler, WaitStrategy::Block)?;
    run.end.unwrap_or(Ok(()))
}

/// What is waited for.
struct Run {
    started: Nanos,
    wait: Nanos,
    patience: Nanos,
    has_left: bool,
    /// Why the last attempt came to no session.
    failure: Option<String>,
    end: Option<Result<(), Failure>>,
}

impl Run {
    /// After each completion: sends what there is room for, and sees whether it is the end.
    fn look(&mut self, io: &mut Io<EpollKernel>, initiator: &mut Initiator<Sender>) {
        if self.end.is_none() {
            self.end = self.look_for_end(io, initiator);
        }
        if self.end.is_some() {
            io.stop();
        }
    }

    fn look_for_end(
        &mut self,
        io: &mut Io<EpollKernel>,
        initiator: &mut Initiator<Sender>,
    ) -> Option<Result<(), Failure>> {
        if let Some(error) = initiator.take_failure() {
            tell(format_args!("cannot connect: {error}"));
            self.failure = Some(error.to_string());
        }
        let input = &mut initiator.endpoint().application().input;
        if let Err(failure) = input.pull() {
            return Some(Err(failure));
        }
        if input.front().is_some() {
            initiator.with_application(io, Sender::send);
        }
        let sender = initiator.endpoint().application();
        if let Some(end) = sender.end.take() {
            return Some(end.map_or(Ok(()), |words| Err(Failure::Run(words))));
        }
        let (last, is_done) = (sender.last, sender.input.is_over());
        let is_quiet = is_done && last.is_some_and(|last| io.now() >= last + self.wait);
        let is_stopped = taut_sys::stop_requests() > 0;
        if !self.has_left && (is_quiet || is_stopped) {
            self.has_left = true;
            if last.is_none() {
                return Some(Err(self.no_session("interrupted before the session was up")));
            }
            initiator.with_application(io, |sender, outbox| {
                sender.is_leaving = true;
                outbox.log_out("");
            });
        }
        if last.is_none() && io.now() >= self.started + self.patience {
            let seconds = self.patience.0 as f64 / 1e9;
            let words = format!("the session was not up after {seconds} seconds");
            return Some(Err(self.no_session(&words)));
        }
        None
    }

    /// Nothing was sent.
    fn no_session(&self, words: &str) -> Failure {
        match &self.failure {
            Some(why) => Failure::Run(format!("{words}: {why}")),
            None => Failure::Run(words.to_owned()),
        }
    }
}

fn span(name: &str, seconds: f64) -> Result<Nanos, Failure> {
    if (0.0..=86_400.0).contains(&seconds) {
        Ok(Nanos((seconds * 1e9) as i64))
    } else {
        Err(Failure::Usage(format!("{name} {seconds} is not between 0 and 86400 seconds")))
    }
}

/// The session that the arguments name.
fn choose(arguments: &SendArguments) -> Result<SessionSettings, Failure> {
    let path = arguments.config.display();
    let mut sessions = load(&arguments.config, Role::Initiator)?.sessions;
    let names: Vec<_> =
        sessions.iter().map(|it| it.config.target_comp_id.as_str().to_owned()).collect();
    if let Some(target) = &arguments.target {
        sessions.retain(|it| it.config.target_comp_id.as_str() == target);
    }
    let names = names.join(", ");
    let (Some(mut session), true) = (sessions.pop(), sessions.is_empty()) else {
        let text = format!("{path}: name one session with --target (there are {names})");
        return Err(Failure::Usage(text));
    };
    if let Some(address) = &arguments.connect {
        if address.rsplit_once(':').and_then(|(_, port)| port.parse::<u16>().ok()).is_none() {
            return Err(Failure::Usage(format!("--connect {address} is no HOST:PORT")));
        }
        session.addresses = vec![address.clone()];
    }
    if session.addresses.is_empty() {
        return Err(Failure::Usage(format!("give --connect, or addresses in {path}")));
    }
    Ok(session)
}

/// Sends messages once the session is up, and prints what comes.
struct Sender {
    input: Input,
    sent: u64,
    /// When the session was up, something was sent, or something came.
    last: Option<Nanos>,
    /// We have logged out: what may still come from standard input is not waited for.
    is_leaving: bool,
    /// Why what came could not be printed: it logs out then.
    cannot: Option<String>,
    /// The end: with words when it was not ours.
    end: Option<Option<String>>,
}

impl Sender {
    fn send(&mut self, outbox: &mut Outbox<'_>) {
        while outbox.session().is_active() && outbox.waiting_bytes() < WAITING_BYTES_MAX {
            let Some(found) = self.input.front() else { return };
            match send_one(found, outbox) {
                Ok(()) => {
                    self.sent += 1;
                    self.last = Some(outbox.now().mono);
                    self.input.pop();
                }
                Err(error) => {
                    let offset = found.offset;
                    let words = format!("the message at byte {offset} cannot be sent: {error}");
                    self.end = Some(Some(words));
                    return;
                }
            }
        }
    }

    /// The peer logged out before everything was sent: its words, and what helps.
    fn logged_out(&self, message: Received<'_>) -> String {
        let sent = self.sent;
        let text = message.value(58).map(String::from_utf8_lossy).unwrap_or_default();
        let words = if text.is_empty() { String::new() } else { format!(": {text}") };
        let remedy = if text.contains("MsgSeqNum too low") {
            "; its numbers went on from an earlier session, ours began at 1: with store = \
             \"FOLDER\" in the settings ours go on too, with reset_on_logon = true both begin at 1"
        } else {
            ""
        };
        format!("the peer logged out after {sent} messages{words}{remedy}")
    }
}

fn send_one(found: &Found, outbox: &mut Outbox<'_>) -> Result<(), FixError> {
    let data_tags = outbox.session().data_tags().clone();
    let fields: Vec<_> = Fields::tolerant(&found.bytes, &data_tags).collect();
    let value = |wanted| fields.iter().find(|(tag, _)| *tag == wanted).map(|(_, value)| *value);
    let Some(msg_type) = value(35) else { return Err(FixError::Misuse(Misuse::NotLoggedOn)) };
    let poss_resend = value(97).is_some_and(|value| value == b"Y");
    outbox.send(msg_type, Extras { poss_resend, ..Extras::default() }, |writer| {
        let body = fields.iter().filter(|(tag, _)| !is_header_tag(*tag) && !FRAME.contains(tag));
        let body = body.map(|(tag, value)| (i32::try_from(*tag).unwrap_or(0), *value));
        copy(writer, body, &data_tags);
    })
}

impl Application for Sender {
    fn handle(&mut self, event: Event, message: Received<'_>, outbox: &mut Outbox<'_>) {
        self.last = Some(outbox.now().mono);
        match event {
            Event::Application { .. } | Event::Rejected => {
                let text = String::from_utf8_lossy(message.bytes).replace('\x01', "|");
                if let Err(failure) = print(text) {
                    self.cannot.get_or_insert(failure.to_string());
                    outbox.log_out("");
                }
            }
            Event::LoggedOn => self.send(outbox),
            Event::LoggedOut => {
                let may_come = !self.input.is_over() && !self.is_leaving;
                let is_early = self.input.front().is_some() || may_come;
                let words = is_early.then(|| self.logged_out(message));
                self.end = Some(self.cannot.take().or(words));
            }
            Event::Disconnect(reason) => {
                let words = self.cannot.take();
                self.end = Some(Some(words.unwrap_or_else(|| reason.as_str().to_owned())));
            }
            _ => {}
        }
    }

    fn disconnected(&mut self) {
        // Before the Logon it tries again.
        if self.end.is_none() && self.last.is_some() {
            self.end = Some(Some(format!("the connection ended after {} messages", self.sent)));
        }
    }

    fn warn(&mut self, words: &str) {
        tell(words);
    }
}
