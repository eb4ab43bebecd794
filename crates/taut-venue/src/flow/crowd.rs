//! A crowd for each of many instruments.

use taut_types::{Lots, OrderId};

use crate::flow::random::SplitMix64;
use crate::flow::step::FlowStep;
use crate::flow::synthetic::{SyntheticConfig, SyntheticFlow, Top};

/// The ids of one instrument's orders: far more than it will ever have.
const ORDERS_OF_EACH: u64 = 1 << 40;

/// Synthetic markets that share the commands of one stream by their weights. The same
/// configuration gives the same commands.
#[derive(Clone, Debug)]
pub struct Crowd {
    members: Vec<Member>,
    /// The sum of the weights.
    total: u64,
    random: SplitMix64,
}

#[derive(Clone, Debug)]
struct Member {
    place: usize,
    /// The weights up to this one, this one counted.
    weights: u64,
    flow: SyntheticFlow,
}

impl Crowd {
    /// A market like this for each of these weights from place `first` on, the instruments in the
    /// order of the venue's configuration. Each has a seed and a range of order ids of its own; one
    /// with weight 0 has none and is left alone.
    #[must_use]
    pub fn new(config: SyntheticConfig, first: usize, weights: &[u32]) -> Self {
        let alike: Vec<_> = weights.iter().map(|&weight| (config, weight)).collect();
        Self::of_each(config.seed, first, &alike)
    }

    /// As [`Crowd::new`], each market with its own configuration and weight; `seed` shares the
    /// commands out.
    #[must_use]
    pub fn of_each(seed: u64, first: usize, markets: &[(SyntheticConfig, u32)]) -> Self {
        let mut total = 0;
        let mut members = Vec::with_capacity(markets.len());
        for (place, &(config, weight)) in (first..).zip(markets) {
            if weight == 0 {
                continue;
            }
            total += u64::from(weight);
            let nth = place as u64;
            let config = SyntheticConfig {
                seed: config.seed.wrapping_add(nth),
                first_order_id: OrderId(config.first_order_id.0 + nth * ORDERS_OF_EACH),
                ..config
            };
            members.push(Member { place, weights: total, flow: SyntheticFlow::new(config) });
        }
        Self { members, total, random: SplitMix64::new(!seed) }
    }

    /// One market, on the first instrument.
    #[must_use]
    pub fn one(flow: SyntheticFlow) -> Self {
        let members = vec![Member { place: 0, weights: 1, flow }];
        Self { members, total: 1, random: SplitMix64::new(0) }
    }

    /// Whether nobody is in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// The markets with the places of their instruments.
    pub(crate) fn members(&self) -> impl Iterator<Item = (usize, &SyntheticFlow)> {
        self.members.iter().map(|member| (member.place, &member.flow))
    }

    /// The next step, in a market whose best prices `top` says, and where it is.
    pub(crate) fn step(&mut self, top: impl FnOnce(usize) -> Top) -> (usize, FlowStep) {
        let at = match self.members.len() {
            1 => 0,
            _ => {
                let dice = self.random.below(self.total);
                self.members.partition_point(|member| member.weights <= dice)
            }
        };
        let Some(Member { place, flow, .. }) = self.members.get_mut(at) else {
            return (0, FlowStep::Nothing);
        };
        (*place, FlowStep::Command(flow.next_command(top(*place))))
    }

    /// An order of the instrument in this place was filled.
    pub(crate) fn on_fill(&mut self, place: usize, order_id: OrderId, remaining: Lots) {
        // They stand in the order of their places, mostly without a gap.
        let found = match self.members.get(place) {
            Some(member) if member.place == place => Ok(place),
            _ => self.members.binary_search_by_key(&place, |member| member.place),
        };
        if let Some(member) = found.ok().and_then(|at| self.members.get_mut(at)) {
            member.flow.on_fill(order_id, remaining);
        }
    }
}
