//! When the next step of the order flow is due, on the monotonic clock.

use std::ops::Range;

use taut_engine::NewOrder;
use taut_types::{Lots, Nanos, OrderId};

use crate::flow::{
    BinanceFlow, Crowd, FlowEvent, FlowStep, LobsterFlow, MirrorFlow, ReplayFlow, SyntheticFlow,
    Top,
};
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
#[derive(Debug)]
#[non_exhaustive]
pub enum Flow {
    /// Nowhere: the book holds what clients bring.
    None,
    /// Synthetic markets.
    Synthetic {
        /// The markets.
        crowd: Box<Crowd>,
        /// Commands a second of all of them together, evenly spaced; at 0 their orders rest.
        ticks_hz: u32,
    },
    /// A recorded market, of the first instrument.
    Recorded {
        /// The recording.
        flow: Box<LobsterFlow>,
        /// Its pace.
        speed: Speed,
    },
    /// A recorded Binance stream of the first instrument, which goes out as well: see
    /// [`VenueSockets::stream`](crate::VenueSockets::stream).
    Binance {
        /// The recording.
        flow: Box<BinanceFlow>,
        /// Its pace.
        speed: Speed,
    },
    /// The levels of a recording, of one instrument.
    Replay {
        /// The recording.
        flow: Box<ReplayFlow>,
        /// Its pace.
        speed: Speed,
    },
    /// Markets that go on elsewhere, as their updates come.
    Mirror(Box<MirrorFlow>),
    /// All of these, each at its own pace.
    Several(Vec<Self>),
}

impl Flow {
    /// A synthetic market of the first instrument at `ticks_hz` commands a second.
    #[must_use]
    pub fn synthetic(flow: SyntheticFlow, ticks_hz: u32) -> Self {
        Self::crowd(Crowd::one(flow), ticks_hz)
    }

    /// Synthetic markets at `ticks_hz` commands a second together.
    #[must_use]
    pub fn crowd(crowd: Crowd, ticks_hz: u32) -> Self {
        Self::Synthetic { crowd: Box::new(crowd), ticks_hz }
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

    /// The levels of a recording. A factor that is not positive counts as 1.
    #[must_use]
    pub fn replay(flow: ReplayFlow, speed: Speed) -> Self {
        Self::Replay { flow: Box::new(flow), speed: speed.or_recorded() }
    }

    /// The orders that rest before the start, and where.
    pub(crate) fn initial_orders(&self) -> Vec<(usize, &NewOrder)> {
        match self {
            Self::None | Self::Mirror(_) => Vec::new(),
            Self::Synthetic { crowd, .. } => {
                let on_their =
                    |(place, flow): (usize, _)| at(place, SyntheticFlow::initial_orders(flow));
                crowd.members().flat_map(on_their).collect()
            }
            Self::Recorded { flow, .. } => at(0, flow.initial_orders()),
            Self::Binance { flow, .. } => at(0, flow.initial_orders()),
            Self::Replay { flow, .. } => at(flow.place(), flow.initial_orders()),
            Self::Several(flows) => flows.iter().flat_map(Self::initial_orders).collect(),
        }
    }
}

fn at(place: usize, orders: &[NewOrder]) -> Vec<(usize, &NewOrder)> {
    orders.iter().map(|order| (place, order)).collect()
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

/// The flows and where they stand.
#[derive(Debug)]
pub struct FlowPlayer {
    /// One or a few.
    tracks: Vec<Track>,
}

/// A flow and where it stands.
#[derive(Debug)]
struct Track {
    flow: Flow,
    /// How many steps have been taken.
    position: usize,
    /// The monotonic time of step 0, while it runs.
    origin: Option<Nanos>,
}

impl FlowPlayer {
    pub fn new(flow: Flow) -> Self {
        let track = |flow| Track { flow, position: 0, origin: None };
        let tracks = match flow {
            Flow::Several(flows) => flows.into_iter().map(track).collect(),
            one => vec![track(one)],
        };
        Self { tracks }
    }

    /// The orders that rest before the start, with the places of their instruments.
    pub fn initial_orders(&self) -> impl Iterator<Item = (usize, &NewOrder)> {
        self.tracks.iter().flat_map(|track| track.flow.initial_orders())
    }

    /// The next step of each is due now.
    pub fn start(&mut self, now: Nanos) {
        self.tracks.iter_mut().for_each(|track| track.start(now));
    }

    /// No step is due any more.
    pub fn stop(&mut self) {
        self.tracks.iter_mut().for_each(|track| track.origin = None);
    }

    /// Whether one of them has no step left: a synthetic one that trades always has.
    pub fn is_finished(&self) -> bool {
        self.tracks.iter().any(Track::is_finished)
    }

    /// When the next step is due; `None` when none runs or all are finished.
    pub fn due(&self) -> Option<Nanos> {
        match self.tracks.as_slice() {
            [track] => track.due(),
            tracks => tracks.iter().filter_map(Track::due).min(),
        }
    }

    /// The text of a frame of the recording.
    pub fn frame(&self, at: Range<usize>) -> &str {
        self.stream().map_or("", |flow| flow.frame(at))
    }

    /// Updates that a recorded stream has brought, and the number of the last one.
    pub fn streamed(&self) -> (u64, u64) {
        self.stream().map_or((0, 0), BinanceFlow::streamed)
    }

    /// How often the recording of the instrument in this place has come to its end.
    pub fn replay_ends(&self, place: usize) -> u64 {
        let ends = self.tracks.iter().map(|track| match &track.flow {
            Flow::Replay { flow, .. } if flow.place() == place => flow.ends(),
            _ => 0,
        });
        ends.sum()
    }

    /// Takes the next step of the flow that is due first: where, and what. `top` says the best
    /// prices in a place.
    pub fn step(&mut self, top: impl FnOnce(usize) -> Top) -> (usize, FlowStep) {
        let first = match self.tracks.as_mut_slice() {
            [track] => Some(track),
            tracks => tracks.iter_mut().min_by_key(|track| track.due().unwrap_or(Nanos::MAX)),
        };
        first.map_or((0, FlowStep::Nothing), |track| track.step(top))
    }

    /// An order of the instrument in this place was filled, and this is left of it.
    pub fn on_fill(&mut self, place: usize, order_id: OrderId, remaining: Lots) {
        for track in &mut self.tracks {
            match &mut track.flow {
                Flow::Synthetic { crowd, .. } => crowd.on_fill(place, order_id, remaining),
                Flow::Binance { flow, .. } if place == 0 => flow.on_fill(order_id, remaining),
                Flow::Replay { flow, .. } if flow.place() == place => {
                    flow.on_fill(order_id, remaining);
                }
                Flow::Mirror(flow) => flow.on_fill(place, order_id, remaining),
                _ => {}
            }
        }
    }

    /// An order was refused: the crowd is not to count on it. What follows another market would
    /// try again at every step.
    pub fn on_refusal(&mut self, place: usize, order_id: OrderId) {
        for track in &mut self.tracks {
            match &mut track.flow {
                Flow::Synthetic { crowd, .. } => crowd.on_fill(place, order_id, Lots::ZERO),
                Flow::Replay { flow, .. } if flow.place() == place => flow.on_refusal(order_id),
                _ => {}
            }
        }
    }

    fn stream(&self) -> Option<&BinanceFlow> {
        self.tracks.iter().find_map(|track| match &track.flow {
            Flow::Binance { flow, .. } => Some(&**flow),
            _ => None,
        })
    }
}

impl Track {
    fn start(&mut self, now: Nanos) {
        if self.origin.is_none() {
            self.origin = Some(now - self.offset(self.position).unwrap_or(Nanos::ZERO));
        }
    }

    fn is_finished(&self) -> bool {
        match &self.flow {
            Flow::Mirror(flow) => flow.is_over(),
            _ => self.offset(self.position).is_none() && !self.is_behind(),
        }
    }

    fn due(&self) -> Option<Nanos> {
        let origin = self.origin?;
        if let Flow::Mirror(flow) = &self.flow {
            return flow.is_due().then_some(origin);
        }
        if self.is_behind() { Some(origin) } else { Some(origin + self.offset(self.position)?) }
    }

    /// Whether something has to be put right before the next step.
    fn is_behind(&self) -> bool {
        match &self.flow {
            Flow::Binance { flow, .. } => flow.is_behind(),
            Flow::Replay { flow, .. } => flow.is_behind(),
            _ => false,
        }
    }

    fn step(&mut self, top: impl FnOnce(usize) -> Top) -> (usize, FlowStep) {
        let at = self.position;
        if !self.is_behind() {
            self.position += 1;
        }
        let step = match &mut self.flow {
            // Their parts have tracks of their own.
            Flow::None | Flow::Several(_) => FlowStep::Nothing,
            Flow::Synthetic { crowd, .. } => return crowd.step(top),
            Flow::Mirror(flow) => return flow.step(),
            Flow::Recorded { flow, .. } => match flow.events().get(at).map(|row| row.event) {
                Some(FlowEvent::Command(command)) => FlowStep::Command(command),
                Some(FlowEvent::Print { price, lots, aggressor_side: aggressor }) => {
                    FlowStep::Print { price, lots, aggressor }
                }
                _ => FlowStep::Nothing,
            },
            Flow::Binance { flow, .. } if flow.is_behind() => flow.catch_up(),
            Flow::Binance { flow, .. } => flow.step(at),
            Flow::Replay { flow, .. } => {
                let step = if flow.is_behind() { flow.catch_up() } else { flow.step(at) };
                return (flow.place(), step);
            }
        };
        (0, step)
    }

    /// From step 0 to step `position`; `None` when there is no such step.
    fn offset(&self, position: usize) -> Option<Nanos> {
        match &self.flow {
            Flow::None | Flow::Mirror(_) | Flow::Several(_) => None,
            Flow::Synthetic { ticks_hz: 0, .. } => None,
            Flow::Synthetic { crowd, .. } if crowd.is_empty() => None,
            Flow::Synthetic { ticks_hz, .. } => {
                // From the start each time: no rounding error adds up.
                let (position, hz) = (position as u64, u64::from(*ticks_hz));
                let ns = match position.checked_mul(1_000_000_000) {
                    Some(ticks) => ticks / hz,
                    // After half a thousand years at the highest pace: a step more or less.
                    None => (position / hz).saturating_mul(1_000_000_000),
                };
                Some(Nanos(i64::try_from(ns).unwrap_or(i64::MAX)))
            }
            Flow::Recorded { flow, speed } => Some(speed.scale(flow.events().get(position)?.at)),
            Flow::Binance { flow, speed } => Some(speed.scale(flow.offset(position)?)),
            Flow::Replay { flow, speed } => Some(speed.scale(flow.offset(position)?)),
        }
    }
}

impl Recorded for FlowPlayer {
    fn last_frame(&self) -> &str {
        self.stream().map_or("", BinanceFlow::last_frame)
    }

    fn book(&self, head: &str, tail: &str) -> Option<String> {
        self.stream().map(|flow| flow.snapshot(head, tail))
    }
}
