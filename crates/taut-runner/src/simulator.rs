//! The venue simulator, from its settings.

use std::path::Path;

use taut_fix::CompId;
use taut_types::Instrument;
use taut_venue::flow::{BinanceFlow, Crowd, FileError, LobsterFlow, SyntheticConfig};
use taut_venue::{FeedLoss, Flow, Speed, VenueConfig, VenueCounters};

use crate::error::RunnerError;
use crate::settings::{Replay, Settings, Simulator};

/// Room for orders, and for price levels of a side, of several instruments together.
const ORDERS_OF_ALL: usize = 1 << 18;
const LEVELS_OF_ALL: usize = 1 << 15;

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
    let mut config = VenueConfig::new(settings.instruments()?, comp_id, stream_id);
    let count = config.instruments.len();
    if count > 1 {
        // Each is as large as its crowd needs, or as its share of what is there for all.
        let levels = simulator.levels as usize;
        let fit = |crowd: usize, share: usize, [least, most]: [usize; 2]| {
            crowd.max(share).next_power_of_two().clamp(least, most)
        };
        config.order_capacity =
            fit(16 * levels, ORDERS_OF_ALL / count, [512, config.order_capacity]);
        config.level_capacity =
            fit(4 * levels, LEVELS_OF_ALL / count, [128, config.level_capacity]);
    }
    let [a_per_mille, b_per_mille] = simulator.lose_per_mille;
    config.loss = FeedLoss { a_per_mille, b_per_mille, seed: simulator.seed };
    if simulator.refuse_retransmission {
        (config.retransmit.burst_bytes, config.retransmit.bytes_per_second) = (0, 0);
    }
    Ok(config)
}

/// Where its orders come from.
pub fn flow(
    settings: &Settings,
    simulator: &Simulator,
    first: Instrument,
) -> Result<Flow, RunnerError> {
    let Simulator { seed, levels, .. } = *simulator;
    let level_count = levels as usize;
    let config = SyntheticConfig { seed, level_count, ..SyntheticConfig::default() };
    let crowd = |place, weights| {
        Flow::crowd(Crowd::new(config, place, weights), simulator.commands_per_second)
    };
    let weights = settings.weights();
    let Some(file) = &simulator.data else { return Ok(crowd(0, &weights)) };
    let recorded = recorded(simulator, file, first)?;
    Ok(match weights.get(1..) {
        None | Some([]) => recorded,
        // The recording is the first instrument's.
        Some(others) => Flow::Several(vec![recorded, crowd(1, others)]),
    })
}

fn recorded(
    simulator: &Simulator,
    file: &Path,
    instrument: Instrument,
) -> Result<Flow, RunnerError> {
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
    let came = counters.order_connections + counters.stream_connections;
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
        ("connections beyond the slots", came.refused),
        ("connections that gave way", came.evicted),
        ("connections that were late", came.late),
    ]
    .map(|(name, count)| (name.to_owned(), count))
    .to_vec()
}
