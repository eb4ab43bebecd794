//! Dead man's timers: whoever shows no sign of life for so long is killed.

use taut_gateway::{Owner, WhenGone};
use taut_oms::KillScope;
use taut_types::Nanos;

use crate::mistakes::Mistake;
use crate::service::day::DayEnd;

/// The shortest time without a sign of life: a strategy that sleeps shows one every 50 ms.
const SHORTEST_MS: u32 = 200;

/// Who must show signs of life, and how often.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeadMen {
    /// The operator, or everything is killed.
    pub operator: Option<Nanos>,
    /// Strategies, while they are attached.
    pub strategies: Vec<(Owner, Nanos)>,
}

impl DeadMen {
    fn interval(&self, owner: Owner) -> Option<Nanos> {
        self.strategies.iter().find(|(own, _)| *own == owner).map(|(_, interval)| *interval)
    }
}

/// What the trading thread looks at beside the rules of orders.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Watched {
    pub dead_men: DeadMen,
    pub day_ends: Option<DayEnd>,
    /// What becomes of whose orders.
    pub when_gone: Vec<(Owner, WhenGone)>,
}

/// A span that is none.
pub fn check_dead_man(key: &str, ms: Option<u32>, mistakes: &mut Vec<Mistake>) {
    if let Some(ms) = ms.filter(|ms| *ms < SHORTEST_MS) {
        mistakes.push(Mistake::new(key, ms, format!("at least {SHORTEST_MS}")));
    }
}

/// What is to be done with a timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    Arm(KillScope, Nanos),
    KeepAlive(KillScope),
    Disarm(KillScope),
}

/// Looks for signs of life, place by place.
#[derive(Debug, Default)]
pub struct Watch {
    men: DeadMen,
    /// By place: whose timer runs, and the last sign of life.
    seen: Vec<Option<(Owner, u64)>>,
}

impl Watch {
    pub fn new(men: DeadMen, places: usize) -> Self {
        Self { men, seen: vec![None; places] }
    }

    /// Whether anybody is watched.
    pub const fn is_needed(&self) -> bool {
        !self.men.strategies.is_empty()
    }

    /// Who is watched.
    pub const fn men(&self) -> &DeadMen {
        &self.men
    }

    /// The operator's timer.
    pub const fn operator(&self) -> Option<Nanos> {
        self.men.operator
    }

    /// Other timers from now on: the scopes of those that ran, which are to be disarmed first.
    pub fn replace(&mut self, men: DeadMen) -> impl Iterator<Item = KillScope> {
        self.men = men;
        let running = self.seen.iter_mut().filter_map(Option::take);
        let scopes: Vec<_> = running.map(|(owner, _)| scope(owner)).collect();
        scopes.into_iter().chain([KillScope::All])
    }

    /// Looks at a place: at who has it, and at the last sign of its life.
    pub fn look(
        &mut self,
        place: usize,
        owner: Option<Owner>,
        sign: impl FnOnce() -> u64,
    ) -> Option<Step> {
        let interval = owner.and_then(|owner| Some((owner, self.men.interval(owner)?)));
        let seen = self.seen.get_mut(place)?;
        match (*seen, interval) {
            (Some((was, _)), is) if is.is_none_or(|(owner, _)| owner != was) => {
                *seen = None;
                Some(Step::Disarm(scope(was)))
            }
            (None, Some((owner, interval))) => {
                *seen = Some((owner, sign()));
                Some(Step::Arm(scope(owner), interval))
            }
            (Some((owner, last)), _) => {
                let sign = sign();
                *seen = Some((owner, sign));
                (sign != last).then_some(Step::KeepAlive(scope(owner)))
            }
            (None, None) => None,
        }
    }
}

/// The kill switch knows a strategy by its number alone, which no other strategy has.
const fn scope(owner: Owner) -> KillScope {
    KillScope::Strategy(owner.strategy)
}

#[cfg(test)]
mod tests {
    use super::*;
    use taut_types::{StrategyId, UserId};

    #[test]
    fn a_timer_runs_while_its_strategy_is_there_and_is_fed_by_signs_of_life() {
        let [one, two] = [1, 2].map(|it| Owner { user: UserId(0), strategy: StrategyId(it) });
        let second = Nanos::from_secs(1);
        let men = DeadMen { operator: None, strategies: vec![(one, second)] };
        let mut watch = Watch::new(men, 1);
        assert_eq!(watch.look(0, None, || 0), None);
        assert_eq!(watch.look(0, Some(two), || 5), None, "it has no timer");
        assert_eq!(watch.look(0, Some(one), || 7), Some(Step::Arm(scope(one), second)));
        assert_eq!(watch.look(0, Some(one), || 7), None, "no sign of life");
        assert_eq!(watch.look(0, Some(one), || 8), Some(Step::KeepAlive(scope(one))));
        assert_eq!(watch.look(0, Some(two), || 8), Some(Step::Disarm(scope(one))));
        assert_eq!(watch.look(0, Some(two), || 9), None);
        assert_eq!(watch.look(0, Some(one), || 9), Some(Step::Arm(scope(one), second)));
        // Other settings: what ran is stopped, and begins anew where it is still wanted.
        let stopped: Vec<_> = watch.replace(DeadMen::default()).collect();
        assert_eq!(stopped, [scope(one), KillScope::All]);
        assert_eq!(watch.look(0, Some(one), || 10), None);
    }
}
