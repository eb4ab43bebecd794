//! The last orders that a gateway sent, each with its own times.

use std::collections::VecDeque;

use taut_gateway::{FlightRead, FlightReader, Regions};
use taut_lat::FlightRecord;
use taut_ring::RingError;
use taut_types::RequestId;

use super::model::OrderTimes;

/// So many are kept, and told.
const KEPT: usize = 200;

/// The last orders.
#[derive(Debug, Default)]
pub struct Recent {
    /// The latest first.
    orders: VecDeque<FlightRecord>,
    position: Option<u64>,
}

impl Recent {
    /// Takes those that were sent since.
    pub fn read(&mut self, regions: &Regions<'_>) -> Result<(), RingError> {
        let mut reader = match self.position {
            None => FlightReader::new(regions)?,
            Some(position) => FlightReader::resume(regions, position)?,
        };
        loop {
            match reader.poll() {
                FlightRead::Nothing => break,
                FlightRead::Order(order) => {
                    self.orders.push_front(order);
                    self.orders.truncate(KEPT);
                }
                FlightRead::Lost(_) | FlightRead::NewWriter => {}
            }
        }
        self.position = Some(reader.position());
        Ok(())
    }

    /// All of them, the latest first.
    pub fn seen(&self) -> Vec<OrderTimes> {
        self.orders.iter().map(times).collect()
    }
}

fn times(FlightRecord { order, stamps, .. }: &FlightRecord) -> OrderTimes {
    let text = RequestId::create(*order).to_text();
    OrderTimes {
        id: String::from_utf8_lossy(&text).into_owned(),
        received_ns: stamps.origin.0,
        stages_ns: stamps.offsets.intervals().to_vec(),
        tick_to_trade_ns: stamps.offsets.total(),
    }
}
