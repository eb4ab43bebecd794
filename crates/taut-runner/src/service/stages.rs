//! Where the time of a tick goes, line by line.

use taut_gateway::{Regions, Views};
use taut_lat::{PathSnapshot, Stage};

use crate::service::protocol::StageLine;

/// The stages, then the wholes. The histograms are in shared memory: the thread that trades does
/// nothing for it.
pub fn stage_lines(regions: &Regions<'_>) -> Result<Vec<StageLine>, String> {
    let Views { path, round_trip, .. } = Views::new(regions).map_err(|error| error.to_string())?;
    let stages = PathSnapshot::of(&path);
    let single = Stage::ALL.iter().zip(&stages.stages);
    let mut lines: Vec<_> =
        single.map(|(stage, of)| StageLine::of(stage.name(), &of.summary())).collect();
    lines.push(StageLine::of("tick to trade", &stages.tick_to_trade.summary()));
    lines.push(StageLine::of("less send", &stages.tick_to_send.summary()));
    lines.push(StageLine::of("order round trip", &round_trip.summary()));
    Ok(lines)
}
