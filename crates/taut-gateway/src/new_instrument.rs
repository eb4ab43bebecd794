//! An instrument that a gateway takes while it runs, and why it does not.

use std::fmt;

use taut_market_data::FollowError;
use taut_oms::Settlement;
use taut_types::{FeeRates, Instrument, InstrumentId};

#[cfg(doc)]
use crate::Gateway;
use crate::error::GatewayError;

/// An instrument that a gateway takes while it runs ([`Gateway::add_instrument`]).
#[derive(Clone, Debug, PartialEq)]
pub struct NewInstrument {
    /// The instrument, whose number is the next one: as many as the gateway has.
    pub instrument: Instrument,
    /// The venue's number of it, where its feed numbers instruments; else its own.
    pub venue_number: InstrumentId,
    /// The venue's name of it, where it names instruments by texts; else its symbol.
    pub name: String,
    /// The group that it belongs to in permissions.
    pub group: u8,
    /// What its trades cost of which the venue's reports say nothing.
    pub fees: FeeRates,
    /// How its trades move balances, where those are followed.
    pub settlement: Option<Settlement>,
}

/// Why a gateway does not take an instrument. Unless it says otherwise, nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AddError {
    /// There is room for so many, and so many there are.
    Full(usize),
    /// Its number is not the next one.
    NotNext(InstrumentId),
    /// The venue's order entry takes orders for the instruments that it was built with alone.
    OrderEntry,
    /// The venue's feed cannot be followed for it.
    Feed(FollowError),
    /// It was taken, and its snapshot cannot be received.
    Gateway(GatewayError),
}

impl fmt::Display for AddError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full(room) => write!(f, "there is room for {room} instruments"),
            Self::NotNext(InstrumentId(next)) => write!(f, "the next instrument is number {next}"),
            Self::OrderEntry => {
                f.write_str("this venue's order entry takes no instrument while it runs")
            }
            Self::Feed(error) => write!(f, "{error}"),
            Self::Gateway(error) => write!(f, "taken, but its snapshot is not received: {error}"),
        }
    }
}

impl std::error::Error for AddError {}
