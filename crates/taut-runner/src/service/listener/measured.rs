//! What is measured, read from shared memory: the thread that trades does nothing for it.

use taut_gateway::{Regions, Views};
use taut_lat::PathSnapshot;
use taut_sys::monotonic;
use taut_types::Nanos;

use super::Listener;
use crate::service::protocol::ControlReply;
use crate::service::stages::stage_lines;

impl Listener<'_> {
    pub(super) fn stages(&self) -> Result<ControlReply, String> {
        let regions = Regions::of(self.segment).map_err(|error| error.to_string())?;
        stage_lines(&regions).map(ControlReply::Stages)
    }

    /// They are kept beside the thread that trades.
    pub(super) fn outliers(&self, since: Option<Nanos>) -> Result<ControlReply, String> {
        let off = || "nobody looks: [outliers] look_every_ms is 0 in its settings".to_owned();
        let watch = self.outliers.ok_or_else(off)?;
        let regions = Regions::of(self.segment).map_err(|error| error.to_string())?;
        let views = Views::new(&regions).map_err(|error| error.to_string())?;
        let since = since.map(|since| monotonic() - since);
        let told = watch.told(since, &PathSnapshot::of(&views.path), &self.instruments);
        Ok(ControlReply::Outliers(Box::new(told)))
    }
}
