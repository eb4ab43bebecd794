//! When the next step of the order flow is due, on the monotonic clock.

use taut_engine::{Command, NewOrder};
use taut_types::{HalfTicks, Lots, Nanos, OrderId, Price, Side};

use crate::flow::{FlowEvent, LobsterFlow, SyntheticFlow, Top};

/// How fast a recording is replayed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Speed {
    /// So many times as fast as it was recorded.
    Factor(f64),
    /// As fast as the venue can.
    Max,
}

/// Where the venue's own orders come from, and how fast.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Flow {
    /// Nowhere: the book holds what clients bring.
    None,
    /// A synthetic market.
    Synthetic {
        /// The market.
        flow: Box<SyntheticFlow>,
        /// Commands a second, evenly spaced.
        ticks_hz: u32,
    },
    /// A recorded market.
    Recorded {
        /// The recording.
        flow: Box<LobsterFlow>,
        /// Its pace.
        speed: Speed,
    },
}

impl Flow {
    /// A synthetic market at `ticks_hz` commands a second (at least one).
    #[must_use]
    pub fn synthetic(flow: SyntheticFlow, ticks_hz: u32) -> Self {
        Self::Synthetic { flow: Box::new(flow), ticks_hz: ticks_hz.max(1) }
    }

    /// A recorded market. A factor that is not positive counts as 1.
    #[must_use]
    pub fn recorded(flow: LobsterFlow, speed: Speed) -> Self {
        let speed = match speed {
            Speed::Factor(factor) if factor > 0.0 => speed,
            Speed::Factor(_) => Speed::Factor(1.0),
            Speed::Max => speed,
        };
        Self::Recorded { flow: Box::new(flow), speed }
    }

    /// The orders that rest before the start.
    #[must_use]
    pub fn initial_orders(&self) -> &[NewOrder] {
        match self {
            Self::None => &[],
            Self::Synthetic { flow, .. } => flow.initial_orders(),
            Self::Recorded { flow, .. } => flow.initial_orders(),
        }
    }
}

/// One step of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowStep {
    /// For the engine.
    Command(Command),
    /// A trade that no order of the book took part in.
    Print {
        /// At which price.
        price: Price,
        /// How much.
        lots: Lots,
        /// The taker's side.
        aggressor: Side,
    },
    /// Nothing for the book.
    Nothing,
}

/// A flow and where it stands.
#[derive(Debug)]
pub struct FlowPlayer {
    flow: Flow,
    /// How many steps have been taken.
    position: usize,
    /// The monotonic time of step 0, while it runs.
    origin: Option<Nanos>,
}

impl FlowPlayer {
    pub const fn new(flow: Flow) -> Self {
        Self { flow, position: 0, origin: None }
    }

    pub fn initial_orders(&self) -> &[NewOrder] {
        self.flow.initial_orders()
    }

    /// The next step is due now.
    pub fn start(&mut self, now: Nanos) {
        if self.origin.is_none() {
            self.origin = Some(now - self.offset(self.position).unwrap_or(Nanos::ZERO));
        }
    }

    /// No step is due any more.
    pub const fn stop(&mut self) {
        self.origin = None;
    }

    /// Whether there is no step left.
    pub fn is_finished(&self) -> bool {
        self.offset(self.position).is_none()
    }

    /// When the next step is due; `None` when the flow does not run or is finished.
    pub fn due(&self) -> Option<Nanos> {
        Some(self.origin? + self.offset(self.position)?)
    }

    /// Takes the next step.
    pub fn step(&mut self, best_bid: Option<HalfTicks>, best_ask: Option<HalfTicks>) -> FlowStep {
        let at = self.position;
        self.position += 1;
        match &mut self.flow {
            Flow::None => FlowStep::Nothing,
            Flow::Synthetic { flow, .. } => {
                FlowStep::Command(flow.next_command(Top { best_bid, best_ask }))
            }
            Flow::Recorded { flow, .. } => match flow.events().get(at).map(|row| row.event) {
                Some(FlowEvent::Command(command)) => FlowStep::Command(command),
                Some(FlowEvent::Print { price, lots, aggressor_side: aggressor }) => {
                    FlowStep::Print { price, lots, aggressor }
                }
                _ => FlowStep::Nothing,
            },
        }
    }

    /// An order was filled, and this is left of it.
    pub fn on_fill(&mut self, order_id: OrderId, remaining: Lots) {
        if let Flow::Synthetic { flow, .. } = &mut self.flow {
            flow.on_fill(order_id, remaining);
        }
    }

    /// From step 0 to step `position`; `None` when there is no such step.
    fn offset(&self, position: usize) -> Option<Nanos> {
        match &self.flow {
            Flow::None => None,
            Flow::Synthetic { ticks_hz, .. } => {
                // From the start each time: no rounding error adds up.
                let ns = position as u128 * 1_000_000_000 / u128::from(*ticks_hz);
                Some(Nanos(i64::try_from(ns).unwrap_or(i64::MAX)))
            }
            Flow::Recorded { flow, speed } => {
                let at = flow.events().get(position)?.at;
                Some(match speed {
                    Speed::Max => Nanos::ZERO,
                    // A pace, not money: float casts saturate.
                    Speed::Factor(factor) => Nanos((at.0 as f64 / factor) as i64),
                })
            }
        }
    }
}
