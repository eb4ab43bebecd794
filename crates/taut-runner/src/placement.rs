//! Which process runs on which CPU, and how it waits there.

use serde::{Deserialize, Serialize};
use taut_sys::{Wait, set_nice};

use crate::error::RunnerError;
use crate::settings::{Cpus, Mode, Settings};

/// One process's place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// Its CPU.
    pub cpu: usize,
    /// How it waits.
    #[serde(with = "WaitName")]
    pub wait: Wait,
    /// How it shares its CPU with others, from -20 (it comes first, where it may) to 19.
    pub nice: i8,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Wait")]
enum WaitName {
    Spin,
    Yield,
    Block,
}

/// Of a process that spins: others on its CPU, such as the kernel's threads, get little of it.
const FIRST: i8 = -20;
/// Of a gateway or strategy beside a venue.
const BEFORE_THE_VENUE: i8 = -10;
/// Of a venue, where they may not come before it. Other programs come before this venue,
/// too, and on a busy machine leave it little.
const BEHIND_THE_GATEWAY: i8 = 10;

/// The places of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placement {
    /// The venue simulator's, where the run has one.
    pub venue: Option<Place>,
    /// The gateway's.
    pub gateway: Place,
    /// The strategy's; in fused mode it is the gateway's.
    pub strategy: Place,
}

impl Placement {
    /// The places on a machine with these CPUs (ascending, at least one), where processes
    /// [may come before others](may_come_first) or may not.
    pub(crate) fn choose(
        settings: &Settings,
        cpus: &[usize],
        may_come_first: bool,
    ) -> Result<Self, RunnerError> {
        let has_venue = settings.venue.is_none();
        let Cpus { venue, gateway, strategy } = settings.cpus;
        let default = default_cpus(settings.mode, has_venue, cpus);
        let cpu = |key: &str, wanted: Option<usize>, default: usize| match wanted {
            None => Ok(default),
            Some(cpu) if cpus.contains(&cpu) => Ok(cpu),
            Some(cpu) => Err(no_such_cpu(key, cpu, cpus)),
        };
        let venue = cpu("cpus.venue", venue, default[0])?;
        let gateway = cpu("cpus.gateway", gateway, default[1])?;
        let strategy = match settings.mode {
            Mode::Fused | Mode::Simulated => gateway,
            Mode::Split => cpu("cpus.strategy", strategy, default[2])?,
        };
        // Who shares a CPU with the venue sleeps, too. Who yields there is run in turn with it,
        // ready or not, and leaves no idle time to what else runs on the machine, which then takes
        // the CPU of who spins.
        let busy = |own: usize, other: usize| {
            let is_pair = settings.mode == Mode::Split && own == other;
            let is_with_venue = has_venue && own == venue;
            let wait = settings.wait.unwrap_or(match () {
                () if is_pair => Wait::Yield,
                () if is_with_venue => Wait::Block,
                () => Wait::Spin,
            });
            let is_alone = !is_pair && !is_with_venue;
            Place { cpu: own, wait, nice: if is_alone && wait == Wait::Spin { FIRST } else { 0 } }
        };
        let (mut gateway, mut strategy) = (busy(gateway, strategy), busy(strategy, gateway));
        // The venue is the other side of the market, not what is measured: it sleeps when it has
        // nothing to do, and who shares its CPU and sleeps, too, comes first. One that never sleeps
        // would leave it nothing.
        let mut beside = [gateway, strategy].into_iter().filter(|it| it.cpu == venue).peekable();
        let sleep = beside.peek().is_some() && beside.all(|it| it.wait == Wait::Block);
        let nice = match (has_venue && sleep, may_come_first) {
            (false, _) => 0,
            (true, false) => BEHIND_THE_GATEWAY,
            (true, true) => {
                for place in [&mut gateway, &mut strategy] {
                    if place.cpu == venue {
                        place.nice = BEFORE_THE_VENUE;
                    }
                }
                0
            }
        };
        Ok(Self {
            venue: has_venue.then_some(Place { cpu: venue, wait: Wait::Block, nice }),
            gateway,
            strategy,
        })
    }
}

/// Whether this process may take a lower nice value than it has.
pub(crate) fn may_come_first() -> bool {
    // The value is the thread's own, which ends here.
    let try_it = || set_nice(BEFORE_THE_VENUE).is_ok();
    std::thread::scope(|scope| scope.spawn(try_it).join().unwrap_or(false))
}

/// A CPU that is none of those that this process may use.
pub(crate) fn no_such_cpu(key: &str, cpu: usize, cpus: &[usize]) -> RunnerError {
    let have = cpus.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
    RunnerError::setting(key, cpu, format!("a CPU that this process may use: {have}"))
}

/// Venue, gateway, strategy: the last two apart; the venue where it disturbs the least.
fn default_cpus(mode: Mode, has_venue: bool, cpus: &[usize]) -> [usize; 3] {
    let cpu = |index: usize| cpus.get(index).or(cpus.first()).copied().unwrap_or(0);
    match (mode, cpus.len()) {
        (_, 0 | 1) => [cpu(0); 3],
        (Mode::Split, 2) => [cpu(0), cpu(0), cpu(1)],
        (Mode::Split, _) => [cpu(2), cpu(0), cpu(1)],
        (Mode::Fused | Mode::Simulated, _) => {
            [if has_venue { cpu(1) } else { cpu(0) }, cpu(0), cpu(0)]
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Wait::{Block, Spin, Yield};

    fn choose(mode: Mode, wanted: Cpus, cpus: &[usize]) -> Result<Placement, RunnerError> {
        let settings = Settings { mode, cpus: wanted, ..Settings::default() };
        Placement::choose(&settings, cpus, false)
    }

    fn cpus_of(placement: &Placement) -> [usize; 3] {
        let venue = placement.venue.expect("a venue");
        [venue.cpu, placement.gateway.cpu, placement.strategy.cpu]
    }

    #[test]
    fn two_cpus_keep_gateway_and_strategy_apart_and_the_venue_out_of_the_way() {
        let split = choose(Mode::Split, Cpus::default(), &[0, 1]).expect("placement");
        assert_eq!(cpus_of(&split), [0, 0, 1]);
        let venue = split.venue.expect("a venue");
        assert_eq!((venue.wait, venue.nice), (Block, BEHIND_THE_GATEWAY));
        assert_eq!((split.gateway.wait, split.strategy.wait), (Block, Spin));
        assert_eq!((split.gateway.nice, split.strategy.nice), (0, FIRST));
        let privileged = Placement::choose(&Settings::default(), &[0, 1], true).expect("placement");
        assert_eq!(privileged.venue.expect("a venue").nice, 0);
        assert_eq!((privileged.gateway.nice, privileged.strategy.nice), (BEFORE_THE_VENUE, FIRST));
        // Who never sleeps does not come before a venue on its CPU.
        for wait in [Yield, Spin] {
            let settings = Settings { wait: Some(wait), ..Settings::default() };
            let split = Placement::choose(&settings, &[0, 1], true).expect("placement");
            assert_eq!((split.venue.expect("a venue").nice, split.gateway.nice), (0, 0));
        }
        let fused = choose(Mode::Fused, Cpus::default(), &[0, 1]).expect("placement");
        assert_eq!(cpus_of(&fused), [1, 0, 0]);
        assert_eq!(fused.venue.expect("a venue").nice, 0);
        assert_eq!(fused.gateway.wait, Spin);
    }

    #[test]
    fn more_cpus_give_one_each_and_a_single_one_is_shared() {
        let many = choose(Mode::Split, Cpus::default(), &[2, 4, 6, 8]).expect("placement");
        assert_eq!(cpus_of(&many), [6, 2, 4]);
        assert_eq!(many.venue.expect("a venue").nice, 0);
        let one = choose(Mode::Split, Cpus::default(), &[3]).expect("placement");
        assert_eq!(cpus_of(&one), [3, 3, 3]);
        assert_eq!((one.gateway.wait, one.strategy.wait), (Yield, Yield));
    }

    #[test]
    fn a_venue_that_runs_elsewhere_takes_no_cpu() {
        let at = std::net::SocketAddrV4::new(std::net::Ipv4Addr::LOCALHOST, 1);
        let venue = Some(crate::settings::RemoteVenue::new(at, at, at, "X"));
        for mode in [Mode::Split, Mode::Fused] {
            let settings = Settings { mode, venue: venue.clone(), ..Settings::default() };
            let placement = Placement::choose(&settings, &[0, 1], true).expect("placement");
            assert_eq!(placement.venue, None);
            assert_eq!((placement.gateway.wait, placement.strategy.wait), (Spin, Spin));
        }
    }

    #[test]
    fn a_cpu_that_does_not_exist_is_named() {
        let wanted = Cpus { strategy: Some(9), ..Cpus::default() };
        let said = choose(Mode::Split, wanted, &[0, 1]).expect_err("no such CPU").to_string();
        assert!(said.contains("cpus.strategy = 9") && said.contains("0, 1"), "{said}");
    }
}
