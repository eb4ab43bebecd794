//! A gateway that ran by itself once more, with what it heard out of a journal.

use std::sync::mpsc;

use taut_gateway::{OrderHandler, OrderWriter, Owner, Regions, Strategy, VenueCopies};
use taut_journal::{ATTENTION, COMMAND, Frame, HOUSEKEEPING, STATE, TURN};
use taut_log::LogWriter;
use taut_market_data::FeedHandler;
use taut_ring::cell::CellWriter;
use taut_sys::{MAPPING_WORDS, TickMapping};
use taut_types::Nanos;

use super::asked::now;
use super::strategies::{Fused, Memory, Split, Strategies};
use super::trading::Trading;
use super::{How, Shared, build, first_number};
use crate::error::RunnerError;
use crate::recording::Command;
use crate::replayed::Judged;
use crate::replaying::{Replaying, compare_state, given};
use crate::service::connections::{self, Connect, Connections};
use crate::service::file::GatewayFile;
use crate::service::recorded::RecordedGateway;

/// What is done again.
pub struct GatewayReplay<'a> {
    pub run: RecordedGateway,
    /// What its clock's ticks meant.
    pub clock: [u64; MAPPING_WORDS],
    pub replaying: Replaying<'a>,
}

/// Builds the same gateway on a kernel that is none, and has it do what it did. A strategy that ran
/// in its thread is the one that `make` makes.
pub fn replay<S: Strategy + Send>(
    again: GatewayReplay<'_>,
    make: impl FnOnce(Nanos) -> S,
) -> Result<(), RunnerError> {
    let GatewayReplay { run, clock, replaying } = again;
    let file = GatewayFile::from(run.file);
    let builder = Again { file: &file, clock, replaying };
    match &run.fused {
        None => builder.with_places(),
        Some(name) => {
            let unknown = || RunnerError::Settings(file.unknown_strategy(name));
            let owner: Owner = file.strategy(name).ok_or_else(unknown)?.owner();
            connections::connect(&file, builder.with(Fused { owner, make }))
        }
    }
}

struct Again<'a> {
    file: &'a GatewayFile,
    clock: [u64; MAPPING_WORDS],
    replaying: Replaying<'a>,
}

impl<'a> Again<'a> {
    /// With places for strategies that come and go. No function of a strategy's type: a gateway of
    /// every venue is compiled here, and not once more where one is replayed.
    fn with_places(self) -> Result<(), RunnerError> {
        connections::connect(self.file, self.with(Split))
    }

    fn with<W: Strategies>(self, strategies: W) -> Builder<'a, W> {
        Builder { again: self, strategies }
    }
}

/// Runs the gateway that it is given the parts of.
struct Builder<'a, W> {
    again: Again<'a>,
    strategies: W,
}

impl<W: Strategies> Connect for Builder<'_, W> {
    type Output = ();

    fn connect<F: FeedHandler + Send, H: OrderHandler + Send>(
        self,
        connections: Connections<F, H>,
    ) -> Result<(), RunnerError> {
        let Self { again: Again { file, clock, mut replaying }, strategies } = self;
        let failed = |error: &dyn std::fmt::Display| RunnerError::run("shared memory", error);
        let shared = Shared::create(W::PLACES)?;
        let regions = Regions::of(&shared.segment).map_err(|error| failed(&error))?;
        let places = shared.places()?;
        let mut cell = CellWriter::new(regions.clock).map_err(|error| failed(&error))?;
        cell.set(&clock);
        let memory = Memory { regions: &regions, own: &shared.own, places: &places };
        let client = strategies.open(&memory, first_number(), now())?;
        let (kernel, market) = (replaying.kernel(), replaying.market.clone());
        let how = How { is_taped: true, log: LogWriter::silent(), market };
        let built = build(&regions, kernel, client, connections, how)?;
        // Nobody asks and nobody listens.
        let ((_asks, asked), (answers, _)) = (mpsc::channel(), mpsc::channel());
        let recovered = replaying.recovered.take();
        let journal = recovered.map(|state| (OrderWriter::Replayed, state));
        let mut trading = Trading::open(file, built, journal, &shared.bell, (asked, answers))?;
        if !replaying.end_building() {
            return Ok(());
        }
        if file.drop_copy_reader.is_some() {
            trading.gateway().read_drop_copies(VenueCopies::given());
        }
        if let Some(limits) = replaying.limits.take() {
            let sizes = trading.gateway().risk().limits().sizes();
            trading.gateway().judge_by(limits(sizes));
        }
        let rows = replaying.market.clone();
        let note = |trading: &mut Trading<'_, '_>| {
            if let Some(Ok(mut rows)) = rows.as_ref().map(|rows| rows.lock()) {
                rows.set_instruments(trading.gateway().instruments());
            }
        };
        note(&mut trading);
        let mut is_first = true;
        replaying.run(&mut |frame| {
            let done = step(&mut trading, frame, &mut is_first);
            if frame.kind == ATTENTION {
                note(&mut trading);
            }
            done
        })?;
        let Replaying { found, began, .. } = replaying;
        let gateway = trading.gateway();
        found.counters = gateway.counters();
        found.what_if = gateway.what_if().map(|it| Judged::of(it, gateway.instruments(), began));
        Ok(())
    }
}

/// One entry; or what is different.
fn step(
    trading: &mut Trading<'_, '_>,
    frame: &Frame<'_>,
    is_first: &mut bool,
) -> Result<(), String> {
    match frame.kind {
        TURN => given(frame.bytes, || trading.gateway().poll()),
        HOUSEKEEPING => given(frame.bytes, || trading.gateway().housekeeping()),
        ATTENTION if std::mem::take(is_first) => given(frame.bytes, || trading.arm_operator()),
        ATTENTION => given(frame.bytes, || trading.look_after()),
        COMMAND => {
            let (command, heard) = Command::read(frame.bytes).ok_or("a command that is none")?;
            let Command::Clock(words) = command else { return Err("not a gateway's".to_owned()) };
            let mapping = TickMapping::from_words(words);
            given(heard, || trading.gateway().clock_mut().set_mapping(mapping))
        }
        STATE => compare_state(frame.bytes, &trading.gateway().state()),
        kind => Err(format!("an entry of kind {kind}, which this build does not know")),
    }
}
