//! What the trading thread and those beside it show of themselves, and who wants to know.

use std::sync::mpsc::Receiver;

use taut_fix_engine::Tell;
use taut_gateway::{GatewayCounters, Regions};
use taut_ipc::Segment;
use taut_log::LogReader;
use taut_log::messages::CopiesTold;
use taut_sync::atomic::{AtomicU64, Ordering};
use taut_sys::{monotonic, utc};
use taut_types::{Instrument, InstrumentId, Nanos};

use crate::service::manager::Manager;
use crate::service::telling::{Heard, entry};

/// Signs of the other threads.
#[derive(Debug)]
pub struct Signs<'a> {
    /// What the trading thread says.
    pub log: LogReader<'a>,
    /// How the threads of drop copies say something, and what they said.
    pub tell: Tell,
    pub told: Receiver<String>,
    /// The trading thread's rounds of housekeeping.
    pub beats: &'a AtomicU64,
    pub manager: Manager,
}

impl Signs<'_> {
    /// Passes a sign of life on, if there is one.
    pub fn look(&mut self, now: Nanos) {
        // Relaxed: it is only looked whether it counts.
        self.manager.look(now, self.beats.load(Ordering::Relaxed));
    }

    /// Tells what they said.
    pub fn tell(&mut self, instruments: &[Instrument], heard: Heard<'_>) {
        // From the trading thread's clock, which is the monotonic one.
        let since = utc() - monotonic();
        let symbol = |id: InstrumentId| {
            let found = instruments.iter().find(|it| it.id() == id);
            found.map(|it| it.symbol().to_string())
        };
        while let Some(entry) = self.log.poll(|at| at + since, symbol) {
            heard(&entry);
        }
        while let Ok(words) = self.told.try_recv() {
            heard(&entry(&CopiesTold {}, words));
        }
    }
}

/// How a gateway is, in a few words.
pub fn status_line(segment: &Segment, instruments: usize) -> String {
    let counters = Regions::of(segment).map(|it| GatewayCounters::load(it.gateway));
    let counters = counters.unwrap_or_default();
    let orders = if counters.logged_on == 0 { "down" } else { "up" };
    let books = if counters.live == 0 { "stale" } else { "sound" };
    format!("orders {orders}, books {books}, {instruments} instruments")
}
