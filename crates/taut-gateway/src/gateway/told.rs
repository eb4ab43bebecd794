//! What a gateway's log says: of every counter that tells of trouble that it grew, and of the order
//! session and the books whenever they are not as they were. All of it is looked at in
//! housekeeping: nothing of it is on the way of a tick or of an order.

use core::fmt;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};

use taut_io::{IoError, Kernel};
use taut_log::messages as say;
use taut_log::{LogWriter, TEXT_BYTES_MAX};
use taut_market_data::FeedHandler;
use taut_oms::{KillScope, Latched, RateWarning};
use taut_sys::Address;
use taut_types::{Instrument, Nanos};

use super::{Core, Gateway};
use crate::client::Client;
use crate::counters::GatewayCounters;
use crate::observer::Observer;
use crate::order_entry::handler::OrderHandler;
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

    /// A line for each counter that grew.
    fn counted(&mut self, now: Nanos, counters: &GatewayCounters, stream_refusal: &str) {
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

impl<'m, C: Client, F: FeedHandler, K: Kernel, O: Observer, H: OrderHandler>
    Gateway<'m, C, F, K, O, H>
{
    /// What happens is said there from now on.
    pub fn set_log(&mut self, log: LogWriter<'m>) {
        self.core.told = Some(Box::new(Told::by(log)));
    }

    /// Says what is not as it was in the round before.
    pub(super) fn tell_log(&mut self, now: Nanos, counters: &GatewayCounters) {
        let Some(mut told) = self.core.told.take() else { return };
        if *counters != told.counters {
            self.tell_changes(&mut told, now, counters);
            told.counters = *counters;
        }
        told.log.housekeeping(now);
        self.core.told = Some(told);
    }

    fn tell_changes(&self, told: &mut Told<'m>, now: Nanos, counters: &GatewayCounters) {
        let was = told.counters;
        let [refusal, stream_refusal] = self.refusals();
        told.counted(now, counters, stream_refusal);
        if refusal != told.refusal {
            refusal.clone_into(&mut told.refusal);
            if !refusal.is_empty() {
                told.log.say_text(now, &say::OrdersRefused {}, refusal);
            }
        }
        match (was.live, counters.live) {
            (0, 1) => {
                let GatewayCounters { recovered, snapshots, .. } = *counters;
                told.log.say(now, &say::BooksSound { recovered, snapshots });
            }
            (1, 0) => {
                let mut books = self.stale_books();
                if let Some((instrument, why)) = books.next() {
                    let stale = 1 + books.count() as u64;
                    let message = say::BooksStale { instrument, stale };
                    told.log.say_args(now, &message, format_args!("{why}"));
                }
            }
            _ => {}
        }
        match (was.logged_on, counters.logged_on) {
            (0, 1) => {
                let (_, address) = self.order_address();
                told.log.say(now, &say::OrderEntryUp { address: inet(address) });
            }
            (1, 0) => {
                let mut open_orders: u64 = 0;
                self.visit_orders(|_| open_orders += 1);
                told.log.say(now, &say::OrderEntryDown { open_orders });
            }
            _ => {}
        }
    }
}

impl<C, F, O, H> Core<'_, C, F, O, H> {
    /// Says what is killed.
    pub(super) fn tell_killed(&mut self, now: Nanos, latched: Latched) {
        if let Some(told) = &mut self.told {
            told.killed(now, latched, &self.instruments);
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
