//! Instruments of a file that a gateway takes while it runs.

use taut_gateway::NewInstrument;
use taut_types::Instrument;

use crate::service::balances::settlement;
use crate::service::file::GatewayFile;
use crate::settings::InstrumentSettings;

/// The instruments of a file from this place on.
pub fn new_instruments(
    file: &GatewayFile,
    instruments: &[Instrument],
    groups: &[u8],
    from: usize,
) -> Vec<NewInstrument> {
    let of = |(at, settings): (usize, &InstrumentSettings)| {
        Some(NewInstrument {
            instrument: *instruments.get(at)?,
            venue_number: file.venue_number(at),
            name: settings.venue_name().to_owned(),
            group: groups.get(at).copied().unwrap_or_default(),
            fees: settings.fees().unwrap_or_default(),
            settlement: settlement(settings),
        })
    };
    file.instruments.iter().enumerate().skip(from).filter_map(of).collect()
}
