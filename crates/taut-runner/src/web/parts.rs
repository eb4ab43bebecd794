//! What every venue of a run has.

use crate::service::FlowSettings;
use crate::settings::{InstrumentSettings, Settings, Simulator};

/// Who trades there. The key is worth nothing but in the run.
pub const CLIENT: &str = "gateway";
pub const SECRET: &str = "secret-of-the-run";

/// Connections that the venue takes: the gateway's two, and those of who looks in.
pub const CONNECTIONS_MAX: usize = 16;

/// What is traded.
pub fn traded(settings: &Settings) -> &[InstrumentSettings] {
    match settings.instruments.as_slice() {
        [] => std::slice::from_ref(&settings.instrument),
        several => several,
    }
}

/// The venue's crowd.
pub const fn crowd(simulator: &Simulator) -> FlowSettings {
    let Simulator { seed, commands_per_second, levels, .. } = *simulator;
    FlowSettings { seed, commands_per_second, levels }
}
