//! Who looks at the threads of a gateway, to say why orders took long: a thread that does not
//! trade.

use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use taut_doctor::Sample;
use taut_doctor::outliers::{
    Keeper, Keeping, OutlierTrace, Outliers, ThreadWatch, WatchedThread, others,
};
use taut_gateway::{FlightRead, FlightReader, Regions};
use taut_lat::PathSnapshot;
use taut_sys::monotonic;
use taut_types::{Instrument, InstrumentId, Nanos};

use crate::error::RunnerError;

/// How often the machine is looked at: the kernel takes long to write down its interrupts.
const MACHINE: Nanos = Nanos::from_millis(100);
/// Orders that are taken at a time: more than the flight recorder has.
const ORDERS_AT_A_TIME: usize = 1 << 14;

/// Which orders are kept to be explained, and how often the threads are looked at for it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct OutlierSettings {
    /// Only orders that took longer from tick to trade, µs; without it the worst, whatever they
    /// took.
    pub above_us: Option<f64>,
    /// So many are kept: the worst.
    pub worst: usize,
    /// From one look to the next, ms; with 0 nobody looks, and no order is kept.
    pub look_every_ms: u32,
}

impl Default for OutlierSettings {
    fn default() -> Self {
        Self { above_us: None, worst: 50, look_every_ms: 20 }
    }
}

impl OutlierSettings {
    /// Every value that cannot be.
    pub(crate) fn mistakes(&self) -> Vec<RunnerError> {
        let mut wrong = Vec::new();
        if let Some(above) = self.above_us.filter(|above| !(0.0..=1e9).contains(above)) {
            let right = "from 0 to 1000000000";
            wrong.push(RunnerError::setting("outliers.above_us", above, right));
        }
        if !(1..=1_000).contains(&self.worst) {
            wrong.push(RunnerError::setting("outliers.worst", self.worst, "from 1 to 1000"));
        }
        if self.look_every_ms > 1_000 {
            let (key, ms) = ("outliers.look_every_ms", self.look_every_ms);
            wrong.push(RunnerError::setting(key, ms, "from 0 to 1000"));
        }
        wrong
    }

    fn keeping(&self) -> Keeping {
        let above = self.above_us.unwrap_or(0.0) * 1e3;
        Keeping { above: Nanos(above as i64), worst_max: self.worst }
    }
}

/// Keeps the worst orders of a gateway while it trades.
#[derive(Debug)]
pub(crate) struct OutlierWatch {
    every: Duration,
    keeper: Mutex<Keeper>,
    /// What ran before.
    before: Sample,
    /// The processes whose threads are looked at.
    own: Vec<u32>,
}

impl OutlierWatch {
    /// A watch of the threads with these names, of these processes; nothing where nobody is to
    /// look.
    pub(crate) fn new(
        settings: &OutlierSettings,
        names: Vec<String>,
        own: Vec<u32>,
        is_fused: bool,
    ) -> Option<Self> {
        (settings.look_every_ms > 0).then(|| Self {
            every: Duration::from_millis(settings.look_every_ms.into()),
            keeper: Mutex::new(Keeper::new(settings.keeping(), names, is_fused)),
            before: Sample::take(Path::new("/")),
            own,
        })
    }

    /// Looks until `over` says that it is over, or its other end is gone. The threads are those of
    /// the names, in their order.
    pub(crate) fn run(
        &self,
        regions: &Regions<'_>,
        threads: &[WatchedThread],
        over: &Receiver<()>,
    ) {
        let Ok(mut flight) = FlightReader::new(regions) else { return };
        let mut watch = ThreadWatch::open(Path::new("/"), threads);
        let (mut machine_due, mut is_over) = (Nanos::ZERO, false);
        loop {
            {
                let mut keeper = self.keeper();
                drain(&mut flight, &mut keeper);
                let now = monotonic();
                keeper.look(&watch.look(now));
                if is_over || now >= machine_due {
                    machine_due = now + MACHINE;
                    keeper.look_at_machine(&watch.look_at_machine(now));
                }
            }
            if is_over {
                return;
            }
            is_over = over.recv_timeout(self.every) != Err(RecvTimeoutError::Timeout);
        }
    }

    /// What it comes to so far, or since then.
    pub(crate) fn told(
        &self,
        since: Option<Nanos>,
        path: &PathSnapshot,
        instruments: &[Instrument],
    ) -> (Outliers, OutlierTrace) {
        let usual = path.stages.each_ref().map(|stage| stage.summary().p50);
        let symbol = |id: InstrumentId| {
            let instrument = instruments.get(id.0 as usize);
            instrument.map_or_else(|| id.0.to_string(), |it| it.symbol().to_string())
        };
        let (mut outliers, trace) = self.keeper().told(since, &usual, symbol);
        let cpus: Vec<usize> = trace.threads.iter().map(|thread| thread.cpu).collect();
        let after = Sample::take(Path::new("/"));
        outliers.others = others(&self.before, &after, &cpus, &self.own);
        (outliers, trace)
    }

    fn keeper(&self) -> MutexGuard<'_, Keeper> {
        self.keeper.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Takes what the flight recorder has.
fn drain(flight: &mut FlightReader<'_>, keeper: &mut Keeper) {
    for _ in 0..ORDERS_AT_A_TIME {
        match flight.poll() {
            FlightRead::Order(record) => keeper.order(&record),
            FlightRead::Lost(count) => keeper.lost(count),
            FlightRead::NewWriter => {}
            FlightRead::Nothing => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_cannot_be_are_named() {
        assert_eq!(OutlierSettings::default().mistakes().len(), 0);
        let wrong = OutlierSettings { above_us: Some(f64::NAN), worst: 0, look_every_ms: 1_001 };
        let told: Vec<_> = wrong.mistakes().iter().map(ToString::to_string).collect();
        for (text, key) in told.iter().zip(["above_us", "worst", "look_every_ms"]) {
            assert!(text.contains(&format!("outliers.{key} = ")), "{text}");
        }
        assert_eq!(told.len(), 3);
    }
}
