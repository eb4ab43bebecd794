//! Which process runs on which CPU, and how it waits there.

use serde::{Deserialize, Serialize};

use crate::demo::arguments::{Mode, WaitArgument};
use crate::exit::Failure;

/// One process's place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// Its CPU.
    pub cpu: usize,
    /// How it waits.
    pub wait: WaitArgument,
    /// Whether it runs under SCHED_BATCH: its waking does not push another off the CPU.
    pub batch: bool,
}

/// The three places; in fused mode the strategy's is the gateway's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placement {
    /// The venue.
    pub venue: Place,
    /// The gateway.
    pub gateway: Place,
    /// The strategy.
    pub strategy: Place,
}

impl Placement {
    /// The places on a machine with these CPUs (ascending, at least one).
    pub fn choose(
        mode: Mode,
        wanted: Option<&str>,
        wait: Option<WaitArgument>,
        cpus: &[usize],
    ) -> Result<Self, Failure> {
        let [venue, gateway, strategy] = match wanted {
            Some(text) => parse(text, cpus)?,
            None => default_cpus(mode, cpus),
        };
        let strategy = if mode == Mode::Fused { gateway } else { strategy };
        let busy = |own: usize, other: usize| {
            let shared = own == venue || (mode == Mode::Split && own == other);
            let default = if shared { WaitArgument::Yield } else { WaitArgument::Spin };
            Place { cpu: own, wait: wait.unwrap_or(default), batch: false }
        };
        // The venue is the other side of the market, not what is measured: it sleeps when it has
        // nothing to do, and where it shares a CPU it lets the others finish what they are at.
        let shared = venue == gateway || venue == strategy;
        Ok(Self {
            venue: Place { cpu: venue, wait: WaitArgument::Block, batch: shared },
            gateway: busy(gateway, strategy),
            strategy: busy(strategy, gateway),
        })
    }
}

/// Gateway and strategy apart; the venue where it disturbs the least.
fn default_cpus(mode: Mode, cpus: &[usize]) -> [usize; 3] {
    let cpu = |index: usize| cpus.get(index).or(cpus.first()).copied().unwrap_or(0);
    match (mode, cpus.len()) {
        (_, 0 | 1) => [cpu(0); 3],
        (Mode::Split, 2) => [cpu(0), cpu(0), cpu(1)],
        (Mode::Split, _) => [cpu(2), cpu(0), cpu(1)],
        (Mode::Fused, _) => [cpu(1), cpu(0), cpu(0)],
    }
}

fn parse(text: &str, cpus: &[usize]) -> Result<[usize; 3], Failure> {
    let parts: Vec<&str> = text.split(',').collect();
    let [venue, gateway, strategy] = parts.as_slice() else {
        return Err(Failure::Usage(format!(
            "--cpus '{text}': three CPUs are needed (venue,gateway,strategy), such as 0,0,1"
        )));
    };
    let one = |name: &str, part: &str| {
        let cpu = part.trim().parse::<usize>().ok().filter(|cpu| cpus.contains(cpu));
        cpu.ok_or_else(|| {
            let have = cpus.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
            Failure::Usage(format!(
                "--cpus '{text}': the {name}'s CPU '{part}' does not exist or may not be used; \
                 this process may use {have}"
            ))
        })
    };
    Ok([one("venue", venue)?, one("gateway", gateway)?, one("strategy", strategy)?])
}

#[cfg(test)]
mod tests {
    use super::*;
    use WaitArgument::{Block, Spin, Yield};

    fn choose(mode: Mode, wanted: Option<&str>, cpus: &[usize]) -> Result<Placement, Failure> {
        Placement::choose(mode, wanted, None, cpus)
    }

    fn cpus_of(placement: &Placement) -> [usize; 3] {
        [placement.venue.cpu, placement.gateway.cpu, placement.strategy.cpu]
    }

    #[test]
    fn two_cpus_keep_gateway_and_strategy_apart_and_the_venue_out_of_the_way() {
        let split = choose(Mode::Split, None, &[0, 1]).expect("placement");
        assert_eq!(cpus_of(&split), [0, 0, 1]);
        assert_eq!((split.venue.wait, split.venue.batch), (Block, true));
        assert_eq!((split.gateway.wait, split.strategy.wait), (Yield, Spin));
        let fused = choose(Mode::Fused, None, &[0, 1]).expect("placement");
        assert_eq!(cpus_of(&fused), [1, 0, 0]);
        assert_eq!((fused.venue.batch, fused.gateway.wait), (false, Spin));
    }

    #[test]
    fn more_cpus_give_one_each_and_a_single_one_is_shared() {
        let many = choose(Mode::Split, None, &[2, 4, 6, 8]).expect("placement");
        assert_eq!(cpus_of(&many), [6, 2, 4]);
        assert!(!many.venue.batch);
        let one = choose(Mode::Split, None, &[3]).expect("placement");
        assert_eq!(cpus_of(&one), [3, 3, 3]);
        assert_eq!((one.gateway.wait, one.strategy.wait), (Yield, Yield));
    }

    #[test]
    fn a_cpu_that_does_not_exist_is_named() {
        let error = choose(Mode::Split, Some("0,0,9"), &[0, 1]).expect_err("no such cpu");
        let text = error.to_string();
        assert!(text.contains("strategy") && text.contains("'9'") && text.contains("0, 1"));
        for bad in ["0,1", "0,1,1,1", "a,b,c", ""] {
            assert!(choose(Mode::Split, Some(bad), &[0, 1]).is_err(), "{bad}");
        }
    }
}
