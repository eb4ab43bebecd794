//! The venue simulator, from its settings.

use taut_fix::CompId;
use taut_types::Instrument;
use taut_venue::flow::{BinanceFlow, FileError, LobsterFlow, SyntheticConfig, SyntheticFlow};
use taut_venue::{FeedLoss, Flow, Speed, VenueConfig, VenueCounters};

use crate::error::RunnerError;
use crate::settings::{Replay, Settings, Simulator};

/// Its name in FIX.
pub const COMP_ID: &str = "VENUE";

/// What it is told.
pub fn config(
    settings: &Settings,
    simulator: &Simulator,
    stream_id: u32,
) -> Result<VenueConfig, RunnerError> {
    let comp_id =
        CompId::new(COMP_ID.as_bytes()).ok_or_else(|| RunnerError::Run("CompID".to_owned()))?;
    let mut config = VenueConfig::new(settings.instrument.build()?, comp_id, stream_id);
    let [a_per_mille, b_per_mille] = simulator.lose_per_mille;
    config.loss = FeedLoss { a_per_mille, b_per_mille, seed: simulator.seed };
    if simulator.refuse_retransmission {
        (config.retransmit.burst_bytes, config.retransmit.bytes_per_second) = (0, 0);
    }
    Ok(config)
}

/// Where its orders come from.
pub fn flow(simulator: &Simulator, instrument: Instrument) -> Result<Flow, RunnerError> {
    let Simulator { seed, levels, .. } = *simulator;
    let Some(file) = &simulator.data else {
        let level_count = levels as usize;
        let config = SyntheticConfig { seed, level_count, ..SyntheticConfig::default() };
        return Ok(Flow::synthetic(SyntheticFlow::new(config), simulator.commands_per_second));
    };
    let speed = match simulator.speed {
        Replay::Factor(factor) => Speed::Factor(factor),
        Replay::Named(_) => Speed::Max,
    };
    let unreadable = |error: FileError| RunnerError::Run(error.to_string());
    if simulator.replays_a_stream() {
        let flow = BinanceFlow::read(file, instrument).map_err(unreadable)?;
        return Ok(Flow::binance(flow, speed));
    }
    Ok(Flow::recorded(LobsterFlow::read(file).map_err(unreadable)?, speed))
}

/// The counters that a reader of the report may ask for.
pub fn named(counters: &VenueCounters) -> Vec<(String, u64)> {
    [
        ("flow commands", counters.flow_commands),
        ("flow commands refused", counters.flow_rejects),
        ("trades", counters.trades),
        ("snapshots sent", counters.snapshots),
        ("lost on line A on purpose", counters.lost_on_a),
        ("lost on line B on purpose", counters.lost_on_b),
        ("packets sent again", counters.retransmitted),
        ("requests and packets refused", counters.retransmit_refused),
        ("datagrams sent again", counters.send_retries),
        ("cancelled on disconnect", counters.cancels_on_disconnect),
    ]
    .map(|(name, count)| (name.to_owned(), count))
    .to_vec()
}
