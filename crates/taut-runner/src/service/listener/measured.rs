//! What is measured, read from shared memory.

use taut_gateway::{Regions, Views};
use taut_lat::{PathSnapshot, Stage};

use super::Listener;
use crate::service::protocol::{ControlReply, StageLine};

impl Listener<'_> {
    /// The histograms are in shared memory: the thread that trades does nothing for it.
    pub(super) fn stages(&self) -> Result<ControlReply, String> {
        let regions = Regions::of(self.segment).map_err(|error| error.to_string())?;
        let Views { path, round_trip, .. } =
            Views::new(&regions).map_err(|error| error.to_string())?;
        let stages = PathSnapshot::of(&path);
        let single = Stage::ALL.iter().zip(&stages.stages);
        let mut lines: Vec<_> =
            single.map(|(stage, of)| StageLine::of(stage.name(), &of.summary())).collect();
        lines.push(StageLine::of("tick to trade", &stages.tick_to_trade.summary()));
        lines.push(StageLine::of("less send", &stages.tick_to_send.summary()));
        lines.push(StageLine::of("order round trip", &round_trip.summary()));
        Ok(ControlReply::Stages(lines))
    }

    /// They are kept beside the thread that trades, which does nothing for it.
    pub(super) fn outliers(&self) -> Result<ControlReply, String> {
        let off = || "nobody looks: [outliers] look_every_ms is 0 in its settings".to_owned();
        let watch = self.outliers.ok_or_else(off)?;
        let regions = Regions::of(self.segment).map_err(|error| error.to_string())?;
        let views = Views::new(&regions).map_err(|error| error.to_string())?;
        let told = watch.told(&PathSnapshot::of(&views.path), &self.instruments);
        Ok(ControlReply::Outliers(Box::new(told)))
    }
}
