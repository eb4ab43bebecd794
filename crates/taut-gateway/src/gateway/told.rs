//! What a gateway's log says, and said last.

use core::fmt;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};

use taut_io::IoError;
use taut_log::messages as say;
use taut_log::{LogWriter, TEXT_BYTES_MAX};
use taut_market_data::Staleness;
use taut_oms::{KillScope, Latched, RateWarning};
use taut_sys::Address;
use taut_types::{Instrument, InstrumentId, Nanos};

use crate::counters::GatewayCounters;
use crate::owner::Owner;

/// The log, and what it said last.
#[derive(Debug)]
pub(super) struct Told<'m> {
    log: LogWriter<'m>,
    counters: GatewayCounters,
    /// What the venue said when it refused orders.
    refusal: String,
}

impl<'m> Told<'m> {
    pub fn by(log: LogWriter<'m>) -> Self {
        let refusal = String::with_capacity(TEXT_BYTES_MAX);
        Self { log, counters: GatewayCounters::default(), refusal }
    }

    /// The venue could not be reached for orders.
    #[cold]
    pub fn unreachable(&mut self, now: Nanos, address: Address, error: IoError) {
        let message = say::Unreachable { address: inet(address) };
        self.log.say_args(now, &message, format_args!("{error}"));
    }

    #[cold]
    pub fn killed(&mut self, now: Nanos, latched: Latched, instruments: &[Instrument]) {
        let Latched { scope, cause } = latched;
        let scope = Scope { scope, instruments };
        self.log.say_args(now, &say::Killed {}, format_args!("{scope}: {cause}"));
    }

    #[cold]
    pub fn revived(&mut self, now: Nanos, scope: KillScope, instruments: &[Instrument]) {
        let scope = Scope { scope, instruments };
        self.log.say_args(now, &say::Revived {}, format_args!("{scope}"));
    }

    /// Of a budget that is back nothing is said.
    #[cold]
    pub fn budget(&mut self, now: Nanos, warning: &RateWarning) {
        let RateWarning { of, kind, is_high, left, at_once } = warning;
        if *is_high {
            let words = format_args!("{of:?}, {kind:?}: {left} of {at_once} left");
            self.log.say_args(now, &say::BudgetLow {}, words);
        }
    }

    #[cold]
    pub fn handed_over(&mut self, now: Nanos, count: usize, from: Owner, to: Owner) {
        let [from, to] = [from, to].map(|it| (it.user.0, it.strategy.0));
        let words = format_args!(
            "{count} open orders of strategy {} of user {} are those of strategy {} of user {}",
            from.1, from.0, to.1, to.0
        );
        self.log.say_args(now, &say::HandedOver {}, words);
    }

    /// The counters as they were last.
    pub const fn before(&self) -> &GatewayCounters {
        &self.counters
    }

    /// A round is over: these are the counters to compare with in the next one.
    pub fn end_round(&mut self, now: Nanos, counters: &GatewayCounters) {
        self.counters = *counters;
        self.log.housekeeping(now);
    }

    #[cold]
    pub fn sound(&mut self, now: Nanos, counters: &GatewayCounters) {
        let GatewayCounters { recovered, snapshots, .. } = *counters;
        self.log.say(now, &say::BooksSound { recovered, snapshots });
    }

    /// How many books are stale, and the first of them.
    #[cold]
    pub fn stale(&mut self, now: Nanos, stale: u64, (first, why): (InstrumentId, Staleness)) {
        let message = say::BooksStale { instrument: first, stale };
        self.log.say_args(now, &message, format_args!("{why}"));
    }

    #[cold]
    pub fn up(&mut self, now: Nanos, address: Address) {
        self.log.say(now, &say::OrderEntryUp { address: inet(address) });
    }

    #[cold]
    pub fn down(&mut self, now: Nanos, open_orders: u64) {
        self.log.say(now, &say::OrderEntryDown { open_orders });
    }

    /// What the venue said last when it refused orders; empty when it did not.
    pub fn refused(&mut self, now: Nanos, refusal: &str) {
        if refusal != self.refusal {
            refusal.clone_into(&mut self.refusal);
            if !refusal.is_empty() {
                self.log.say_text(now, &say::OrdersRefused {}, refusal);
            }
        }
    }

    /// A line for each counter that grew.
    pub fn counted(&mut self, now: Nanos, counters: &GatewayCounters, stream_refusal: &str) {
        let Self { log, counters: before, .. } = self;
        macro_rules! grown {
            ($($message:ident: $field:ident $(, $text:expr)?;)*) => {$(
                if counters.$field > before.$field {
                    let count = counters.$field - before.$field;
                    let message = say::$message { count, total: counters.$field };
                    grown!(@say message $(, $text)?);
                }
            )*};
            (@say $message:ident) => { log.say(now, &$message) };
            (@say $message:ident, $text:expr) => { log.say_text(now, &$message, $text) };
        }
        grown! {
            Disconnected: disconnects;
            RequestsLost: lost_requests;
            Troubles: troubles;
            ForeignReports: foreign_reports;
            PositionsUntold: positions_untold;
            PositionsRepaired: positions_repaired;
            RateLimited: rejected_rate_limit;
            Gaps: gaps;
            LineSilent: silences;
            ChannelsSilent: silent_channels;
            Malformed: malformed;
            UnknownFrames: unknown_frames;
            BooksCrossed: crossed_books;
            ChecksumsFailed: checksums_failed;
            LevelsRefused: levels_refused;
            StreamDisconnected: stream_disconnects;
            StreamRefused: stream_refusals, stream_refusal;
            NotGranted: channels_not_granted;
            ReceiveFailed: receive_errors;
            FeedBackup: feed_backups;
            TradesMissed: trades_missed;
            Unjournalled: unjournalled;
            DropCopiesLost: drop_copies_lost;
            DropCopyCorrections: drop_copy_corrections;
        }
    }
}

/// An IPv4 address; none for one of another kind.
fn inet(address: Address) -> SocketAddrV4 {
    match address.inet() {
        Some(SocketAddr::V4(address)) => address,
        _ => SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, 0),
    }
}

/// A scope in words.
struct Scope<'i> {
    scope: KillScope,
    instruments: &'i [Instrument],
}

impl fmt::Display for Scope<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.scope {
            KillScope::All => f.write_str("all"),
            KillScope::User(user) => write!(f, "user {}", user.0),
            KillScope::Strategy(strategy) => write!(f, "strategy {}", strategy.0),
            KillScope::Account(account) => write!(f, "account {}", account.0),
            KillScope::Instrument(id) => match self.instruments.get(id.0 as usize) {
                Some(instrument) => write!(f, "{}", instrument.symbol()),
                None => write!(f, "instrument {}", id.0),
            },
        }
    }
}
