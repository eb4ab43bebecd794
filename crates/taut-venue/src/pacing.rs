//! When the next step of the order flow is due, on the monotonic clock.

use std::ops::Range;

use taut_engine::NewOrder;
use taut_types::{HalfTicks, Lots, Nanos, OrderId};

use crate::flow::{BinanceFlow, FlowEvent, FlowStep, LobsterFlow, SyntheticFlow, Top};
use crate::stream::Recorded;

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
    /// A recorded Binance stream, which goes out as well: see
    /// [`VenueSockets::stream`](crate::VenueSockets::stream).
    Binance {
        /// The recording.
        flow: Box<BinanceFlow>,
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
        Self::Recorded { flow: Box::new(flow), speed: speed.or_recorded() }
    }

    /// A recorded Binance stream. A factor that is not positive counts as 1.
    #[must_use]
    pub fn binance(flow: BinanceFlow, speed: Speed) -> Self {
        Self::Binance { flow: Box::new(flow), speed: speed.or_recorded() }
    }

    /// The orders that rest before the start.
    #[must_use]
    pub fn initial_orders(&self) -> &[NewOrder] {
        match self {
            Self::None => &[],
            Self::Synthetic { flow, .. } => flow.initial_orders(),
            Self::Recorded { flow, .. } => flow.initial_orders(),
            Self::Binance { flow, .. } => flow.initial_orders(),
        }
    }
}

impl Speed {
    /// A factor that is not positive counts as 1.
    fn or_recorded(self) -> Self {
        match self {
            Self::Factor(factor) if factor > 0.0 => self,
            Self::Factor(_) => Self::Factor(1.0),
            Self::Max => self,
        }
    }

    /// When what was recorded at this time is due.
    fn scale(self, at: Nanos) -> Nanos {
        match self {
            Self::Max => Nanos::ZERO,
            // A pace, not money: float casts saturate.
            Self::Factor(factor) => Nanos((at.0 as f64 / factor) as i64),
        }
    }
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
        self.offset(self.position).is_none() && !self.is_behind()
    }

    /// When the next step is due; `None` when the flow does not run or is finished.
    pub fn due(&self) -> Option<Nanos> {
        let origin = self.origin?;
        if self.is_behind() { Some(origin) } else { Some(origin + self.offset(self.position)?) }
    }

    /// Whether something has to be put right before the next step.
    fn is_behind(&self) -> bool {
        matches!(&self.flow, Flow::Binance { flow, .. } if flow.is_behind())
    }

    /// The text of a frame of the recording.
    pub fn frame(&self, at: Range<usize>) -> &str {
        match &self.flow {
            Flow::Binance { flow, .. } => flow.frame(at),
            _ => "",
        }
    }

    /// Updates that a recorded stream has brought, and the number of the last one.
    pub fn streamed(&self) -> (u64, u64) {
        match &self.flow {
            Flow::Binance { flow, .. } => flow.streamed(),
            _ => (0, 0),
        }
    }

    /// Takes the next step.
    pub fn step(&mut self, best_bid: Option<HalfTicks>, best_ask: Option<HalfTicks>) -> FlowStep {
        let at = self.position;
        if !self.is_behind() {
            self.position += 1;
        }
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
            Flow::Binance { flow, .. } => {
                if flow.is_behind() {
                    flow.catch_up()
                } else {
                    flow.step(at)
                }
            }
        }
    }

    /// An order was filled, and this is left of it.
    pub fn on_fill(&mut self, order_id: OrderId, remaining: Lots) {
        match &mut self.flow {
            Flow::Synthetic { flow, .. } => flow.on_fill(order_id, remaining),
            Flow::Binance { flow, .. } => flow.on_fill(order_id, remaining),
            Flow::None | Flow::Recorded { .. } => {}
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
            Flow::Recorded { flow, speed } => Some(speed.scale(flow.events().get(position)?.at)),
            Flow::Binance { flow, speed } => Some(speed.scale(flow.offset(position)?)),
        }
    }
}

impl Recorded for FlowPlayer {
    fn last_frame(&self) -> &str {
        match &self.flow {
            Flow::Binance { flow, .. } => flow.last_frame(),
            _ => "",
        }
    }

    fn book(&self, head: &str, tail: &str) -> Option<String> {
        match &self.flow {
            Flow::Binance { flow, .. } => Some(flow.snapshot(head, tail)),
            _ => None,
        }
    }
}
