//! Connects to a venue, and says what it saw, without sending an order.

use std::fmt::Write;
use std::sync::Arc;

use taut_gateway::{Gateway, GatewayError, Hub, OrderHandler, Regions};
use taut_io::{EpollKernel, TapedKernel};
use taut_ipc::Segment;
use taut_market_data::{BestPrices, FeedHandler, Soundness};
use taut_sync::atomic::Ordering;
use taut_sys::{Anchoring, Clock, catch_stop_signals, monotonic, stop_requests, wait_readable};
use taut_types::{Instrument, InstrumentId, Nanos, Price, Qty};

use crate::error::RunnerError;
use crate::looker::{Looker, Seen};
use crate::service::connections::{self, Connect, Connections, MarketData};
use crate::service::differences::Differences;
use crate::service::file::{GatewayFile, PositionsKey};
use crate::service::gateway::any::AnyGateway;

/// Sockets of the gateway.
const SOURCES: usize = 16;
/// How long market data is watched once all is up.
const WATCHED: Nanos = Nanos::from_secs(2);
/// How long the session may take to log out.
const LOGOUT: Nanos = Nanos::from_secs(5);
/// The longest sleep.
const LOOK: Nanos = Nanos::from_millis(50);

/// Connects as a gateway with this file would: logs on, asks where orders stand, follows the books.
/// `heard` is told line by line what came of it. No order is sent, and nothing is written to the
/// journal.
///
/// # Errors
/// [`RunnerError::Settings`] before anything is opened; [`RunnerError::Run`] with all that had not
/// come about when the patience ended.
pub fn check_live(
    file: &GatewayFile,
    patience: Nanos,
    heard: impl FnMut(&str),
) -> Result<(), RunnerError> {
    let mut heard = heard;
    look(file, patience, &mut heard)
}

fn look(
    file: &GatewayFile,
    patience: Nanos,
    heard: &mut dyn FnMut(&str),
) -> Result<(), RunnerError> {
    file.check()?;
    let mut file = file.subscribed(Some(monotonic() + patience), &mut *heard)?.into_owned();
    (file.journal, file.drop_copy, file.drop_copy_reader) = (None, None, None);
    if file.session.positions != PositionsKey::Off {
        // Nothing is held here that could be made the venue's.
        file.session.positions = PositionsKey::Report;
    }
    catch_stop_signals().map_err(|error| RunnerError::run("signals", error))?;
    let differences = Differences::new(&file, &file.instruments()?);
    connections::connect(&file, Look { patience, heard, differences })
}

struct Look<'a> {
    patience: Nanos,
    heard: &'a mut dyn FnMut(&str),
    differences: Differences,
}

impl Connect for Look<'_> {
    type Output = ();

    fn connect<F: FeedHandler + Send, H: OrderHandler + Send>(
        self,
        connections: Connections<F, H>,
    ) -> Result<(), RunnerError> {
        let Self { patience, heard, differences } = self;
        let Connections { config, market_data, orders, tap } = connections;
        let MarketData { input, handler: feed, .. } = market_data;
        let failed = |error: &dyn std::fmt::Display| RunnerError::run("the gateway", error);
        let segment = Segment::create("taut-gateway-check", &Regions::LAYOUT)
            .map_err(|error| failed(&error))?;
        let regions = Regions::of(&segment).map_err(|error| failed(&error))?;
        let seen: Arc<[Seen]> = config.instruments.iter().map(|_| Seen::default()).collect();
        let looker = Looker { tap, seen: Some(Arc::clone(&seen)), ..Looker::default() };
        // No strategy attaches.
        let client = Hub::new(&regions).map_err(|error| failed(&error))?;
        let kernel = EpollKernel::new(SOURCES).map_err(|error| failed(&error))?;
        let kernel = TapedKernel::live(kernel);
        let clock = Clock::new(Anchoring::start().mapping());
        // It sleeps, however the gateway is to wait.
        let config = taut_gateway::GatewayConfig { hot: false, ..config };
        let handlers = (feed, orders);
        let gateway =
            Gateway::with_handlers(kernel, &config, clock, input, handlers, client, &regions)
                .and_then(|gateway| gateway.with_observer(looker))
                .map_err(|error| failed(&error))?;
        let (gateway, began) = (Box::new(gateway), monotonic());
        Looking { gateway, seen, heard, began, differences }.run(patience)
    }
}

/// A gateway that nobody trades by.
struct Looking<'a, 'm> {
    gateway: Box<dyn AnyGateway + 'm>,
    seen: Arc<[Seen]>,
    heard: &'a mut dyn FnMut(&str),
    began: Nanos,
    differences: Differences,
}

impl Looking<'_, '_> {
    fn run(mut self, patience: Nanos) -> Result<(), RunnerError> {
        let instruments = self.gateway.instruments().to_vec();
        let (mut is_up, mut sound) = (false, vec![false; instruments.len()]);
        let deadline = self.began + patience;
        let mut ready_at = None;
        while monotonic() < ready_at.map_or(deadline, |ready: Nanos| ready + WATCHED) {
            if stop_requests() > 0 {
                return Err(RunnerError::Run("interrupted".to_owned()));
            }
            self.poll()?;
            if !is_up && self.gateway.counters().logged_on != 0 {
                is_up = true;
                let (_, address) = self.gateway.order_address();
                let others = self.gateway.counters().foreign_reports;
                self.say(&format!(
                    "orders: logged on at {address}; {others} open orders there that this gateway \
                     does not know"
                ));
                let news = self.differences.news(self.gateway.position_comparisons());
                news.iter().for_each(|line| self.say(line));
            }
            for (instrument, is_sound) in instruments.iter().zip(&mut sound) {
                if !*is_sound && self.gateway.soundness(instrument.id()) == Soundness::Sound {
                    *is_sound = true;
                    let levels = self.levels(instrument.id());
                    self.say(&format!("{}: the book is sound, {levels}", instrument.symbol()));
                }
            }
            if ready_at.is_none() && is_up && sound.iter().all(|is| *is) {
                ready_at = Some(monotonic());
            }
        }
        let mut missing = Vec::new();
        if !is_up {
            missing.push(self.why_no_session());
        }
        let without: Vec<String> = instruments
            .iter()
            .zip(&sound)
            .filter(|(_, is_sound)| !**is_sound)
            .map(|(instrument, _)| instrument.symbol().to_string())
            .collect();
        if !without.is_empty() {
            missing.push(self.why_no_book(&without));
        }
        for instrument in &instruments {
            missing.extend(self.compare(instrument));
        }
        self.log_out()?;
        match missing.as_slice() {
            [] => {
                (self.heard)("all of it is up; no order was sent");
                Ok(())
            }
            missing => Err(RunnerError::Run(missing.join("\n"))),
        }
    }

    fn poll(&mut self) -> Result<(), RunnerError> {
        let failed = |error: GatewayError| RunnerError::Run(error.to_string());
        if !self.gateway.poll().map_err(failed)? {
            // What it says is looked at anyway.
            let _ = wait_readable(self.gateway.fd().as_slice(), Some(LOOK));
        }
        self.gateway.housekeeping().map(drop).map_err(failed)
    }

    fn say(&mut self, what: &str) {
        let after = monotonic().since(self.began).0 / 1_000_000;
        (self.heard)(&format!("{after:>6} ms  {what}"));
    }

    fn levels(&self, instrument: InstrumentId) -> String {
        match self.gateway.levels(instrument) {
            Some([bids, offers]) => format!("{bids} bid and {offers} offer levels"),
            None => "empty".to_owned(),
        }
    }

    /// What the venue says of an instrument beside what the file says; nothing when they agree.
    fn compare(&mut self, instrument: &Instrument) -> Option<String> {
        let BestPrices { bid, ask } = self.gateway.best(instrument.id());
        let (symbol, side) = (instrument.symbol(), |best: Option<(Price, taut_types::Lots)>| {
            best.map_or("nothing".to_owned(), |(price, lots)| format!("{} x {price}", lots.0))
        });
        let [events, trades] = self.seen.get(instrument.id().0 as usize).map_or([0; 2], |seen| {
            [&seen.events, &seen.trades].map(|count| count.load(Ordering::Relaxed))
        });
        let mut text =
            format!("{symbol}: {} | {}, {events} events, {trades} trades", side(bid), side(ask));
        let terms = self.gateway.venue_terms(instrument.id());
        let mut wrong = Vec::new();
        if let Some(terms) = terms {
            let _ = write!(text, "; the venue's tick is {}, its lot {}", terms.tick, terms.lot);
            if terms.tick != instrument.tick() {
                let own = instrument.tick();
                wrong.push(format!("tick = {own}: the venue says {}", terms.tick));
            }
            if !is_same(terms.lot, instrument.lot()) {
                let own = instrument.lot();
                wrong.push(format!("lot = {own}: the venue says {}", terms.lot));
            }
            if !terms.is_open {
                wrong.push("the venue says that it cannot be traded".to_owned());
            }
        }
        self.say(&text);
        (!wrong.is_empty()).then(|| format!("{symbol}: {}", wrong.join(", ")))
    }

    fn why_no_session(&self) -> String {
        let (_, address) = self.gateway.order_address();
        let said = self.gateway.refusals()[0].to_owned();
        let ended = self.gateway.counters().disconnects;
        let why = match (said.as_str(), ended) {
            ("", 0) => "no connection came about; is the address right?".to_owned(),
            ("", ended) => format!("{ended} connections ended, and the venue did not say why"),
            (said, _) => who_said(said),
        };
        format!("orders: not logged on at {address}: {why}")
    }

    fn why_no_book(&self, without: &[String]) -> String {
        let said = self.gateway.refusals()[1];
        let why = match said {
            "" => {
                "nothing came; is the address right, and does the venue know the name?".to_owned()
            }
            said => who_said(said),
        };
        format!("no sound book of {}: {why}", without.join(", "))
    }

    fn log_out(&mut self) -> Result<(), RunnerError> {
        if self.gateway.counters().logged_on == 0 {
            return Ok(());
        }
        self.gateway.logout().map_err(|error| RunnerError::Run(error.to_string()))?;
        let deadline = monotonic() + LOGOUT;
        while !self.gateway.is_logged_out() && monotonic() < deadline {
            self.poll()?;
        }
        Ok(())
    }
}

/// What was said in the place of an answer; a proxy on the way is named in its own words.
fn who_said(said: &str) -> String {
    if said.contains("proxy") { said.to_owned() } else { format!("the venue said: {said}") }
}

/// The same quantity, however many decimals it is written with.
fn is_same(one: Qty, other: Qty) -> bool {
    let decimals = one.decimals.max(other.decimals);
    let scaled =
        |qty: Qty| 10_i64.checked_pow((decimals - qty.decimals).into())?.checked_mul(qty.mantissa);
    scaled(one).is_some() && scaled(one) == scaled(other)
}
