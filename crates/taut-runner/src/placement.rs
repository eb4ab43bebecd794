//! Which process runs on which CPU, and how it waits there.

mod probe;

use std::fmt::Write;

use serde::{Deserialize, Serialize};
use taut_sys::{Wait, set_nice};
use taut_types::Nanos;

use crate::error::RunnerError;
use crate::settings::{Cpus, Mode, Settings};
pub(crate) use probe::Measured;

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

/// A CPU of which others take so many thousandths is left to them where there is another one.
const DISTURBED: u16 = 100;
/// Who spins on a CPU of which others take so many thousandths, and may not come before them, is
/// put behind them for whole slices of time; who sleeps there is put first when it wakes.
const BUSY: u16 = 400;
/// Where a wake-up takes longer, who shares a CPU with the venue does not sleep.
const SLOW_WAKE_UP: Nanos = Nanos::from_micros(100);

/// The places of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placement {
    /// The venue simulator's, where the run has one.
    pub venue: Option<Place>,
    /// The gateway's.
    pub gateway: Place,
    /// The strategy's; in fused mode it is the gateway's.
    pub strategy: Place,
    /// Why these, for people.
    pub reason: String,
}

impl Placement {
    /// The places on a machine with these CPUs (ascending, at least one), where processes
    /// [may come before others](may_come_first) or may not, and where this was measured.
    pub(crate) fn choose(
        settings: &Settings,
        cpus: &[usize],
        may_come_first: bool,
        measured: &Measured,
    ) -> Result<Self, RunnerError> {
        let has_venue = settings.venue.is_none();
        let Cpus { venue, gateway, strategy } = settings.cpus;
        let default = default_cpus(settings.mode, has_venue, cpus, measured);
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
        let is_slow = measured.wake_up.is_some_and(|span| span > SLOW_WAKE_UP);
        let busy = |own: usize, other: usize| {
            let is_pair = settings.mode == Mode::Split && own == other;
            let is_with_venue = has_venue && own == venue;
            let is_behind = !may_come_first && measured.taken_of(own) > BUSY;
            let wait = settings.wait.unwrap_or(match () {
                () if is_pair => Wait::Yield,
                () if is_with_venue && is_slow => Wait::Yield,
                () if is_with_venue || is_behind => Wait::Block,
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
        let venue = has_venue.then_some(Place { cpu: venue, wait: Wait::Block, nice });
        let reason = String::new();
        let mut placement = Self { venue, gateway, strategy, reason };
        placement.reason = placement.explain(settings, measured);
        Ok(placement)
    }

    /// What was measured, and what it has been chosen by.
    fn explain(&self, settings: &Settings, measured: &Measured) -> String {
        let mut text = String::new();
        for (at, (cpu, taken)) in measured.taken.iter().enumerate() {
            let separator = if at == 0 { "others take " } else { ", " };
            let _ = write!(text, "{separator}{}.{} % of CPU {cpu}", taken / 10, taken % 10);
        }
        if let Some(span) = measured.wake_up {
            let separator = if text.is_empty() { "" } else { "; " };
            let tenths = span.0 / 100;
            let _ = write!(text, "{separator}a wake-up takes {}.{} us", tenths / 10, tenths % 10);
        }
        let is_split = settings.mode == Mode::Split;
        let places =
            [("gateway", Some(self.gateway)), ("strategy", is_split.then_some(self.strategy))];
        for (name, place) in places.into_iter().filter_map(|(name, it)| Some((name, it?))) {
            let separator = if text.is_empty() { "" } else { "; " };
            let name = if is_split { name } else { "gateway with its strategy" };
            let _ =
                write!(text, "{separator}{name}: {}", self.reason_of(place, settings, measured));
        }
        text
    }

    /// Why a gateway or a strategy waits as it does.
    fn reason_of(&self, place: Place, settings: &Settings, measured: &Measured) -> String {
        let Place { cpu, wait, .. } = place;
        let is_pair = settings.mode == Mode::Split && self.gateway.cpu == self.strategy.cpu;
        let is_with_venue = self.venue.is_some_and(|venue| venue.cpu == cpu);
        match wait {
            _ if settings.wait.is_some() => format!("{}, as it was told to", wait.name()),
            Wait::Spin => format!("spins, alone of this run on CPU {cpu}"),
            Wait::Yield if is_pair => format!("yields, CPU {cpu} is gateway's and strategy's"),
            Wait::Yield => format!("yields, CPU {cpu} is the venue's too, and a wake-up is slow"),
            Wait::Block if is_with_venue => format!("sleeps, CPU {cpu} is the venue's too"),
            Wait::Block => {
                let percent = measured.taken_of(cpu) / 10;
                format!("sleeps, others take {percent} % of CPU {cpu} and it may not come first")
            }
        }
    }
}

/// What is measured of these CPUs, where something is to be chosen.
pub(crate) fn measure(settings: &Settings, cpus: &[usize]) -> Measured {
    let Cpus { venue, gateway, strategy } = settings.cpus;
    let is_told = |cpu: Option<usize>, is_there: bool| cpu.is_some() || !is_there;
    let cpus_are_told = is_told(gateway, true)
        && is_told(venue, settings.venue.is_none())
        && is_told(strategy, settings.mode == Mode::Split);
    if settings.wait.is_some() && cpus_are_told {
        return Measured::default();
    }
    Measured::now(cpus)
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

/// Venue, gateway, strategy: the last two apart, where others disturb them the least; the venue
/// where it disturbs the least.
fn default_cpus(mode: Mode, has_venue: bool, cpus: &[usize], measured: &Measured) -> [usize; 3] {
    let mut quiet_first = cpus.to_vec();
    quiet_first.sort_by_key(|cpu| measured.taken_of(*cpu) > DISTURBED);
    let cpu = |index: usize| quiet_first.get(index).or(cpus.first()).copied().unwrap_or(0);
    match (mode, cpus) {
        (_, [] | [_]) => [cpu(0); 3],
        // The strategy, which spins, is disturbed by more.
        (Mode::Split, [first, second]) => {
            let is_disturbed = |cpu: usize| measured.taken_of(cpu) > DISTURBED;
            match is_disturbed(*second) && !is_disturbed(*first) {
                true => [*second, *second, *first],
                false => [*first, *first, *second],
            }
        }
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
        Placement::choose(&settings, cpus, false, &Measured::default())
    }

    const QUIET: Measured = Measured { taken: Vec::new(), wake_up: None };

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
        let privileged =
            Placement::choose(&Settings::default(), &[0, 1], true, &QUIET).expect("placement");
        assert_eq!(privileged.venue.expect("a venue").nice, 0);
        assert_eq!((privileged.gateway.nice, privileged.strategy.nice), (BEFORE_THE_VENUE, FIRST));
        // Who never sleeps does not come before a venue on its CPU.
        for wait in [Yield, Spin] {
            let settings = Settings { wait: Some(wait), ..Settings::default() };
            let split = Placement::choose(&settings, &[0, 1], true, &QUIET).expect("placement");
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
            let placement = Placement::choose(&settings, &[0, 1], true, &QUIET).expect("placement");
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

    /// What is chosen where this was measured of CPUs 0, 1 and so on.
    fn measured(
        settings: &Settings,
        may_come_first: bool,
        taken: &[u16],
        wake_up_us: i64,
    ) -> Placement {
        let cpus: Vec<usize> = (0..taken.len()).collect();
        let taken = cpus.iter().copied().zip(taken.iter().copied()).collect();
        let measured = Measured { taken, wake_up: Some(Nanos::from_micros(wake_up_us)) };
        Placement::choose(settings, &cpus, may_come_first, &measured).expect("placement")
    }

    fn waits_of(placement: &Placement) -> [Wait; 2] {
        [placement.gateway.wait, placement.strategy.wait]
    }

    #[test]
    fn others_are_left_their_cpus_where_there_are_more() {
        let settings = Settings::default();
        let two = measured(&settings, true, &[3, 120], 5);
        assert_eq!(cpus_of(&two), [1, 1, 0], "the strategy has the quiet one");
        assert_eq!(cpus_of(&measured(&settings, true, &[300, 120], 5)), [0, 0, 1]);
        assert_eq!(cpus_of(&measured(&settings, true, &[100, 100], 5)), [0, 0, 1]);
        assert_eq!(cpus_of(&measured(&settings, true, &[500, 0, 0, 900, 2], 5)), [4, 1, 2]);
        let fused = Settings { mode: Mode::Fused, ..Settings::default() };
        assert_eq!(cpus_of(&measured(&fused, true, &[500, 0, 0], 5)), [2, 1, 1]);
        let told = Cpus { venue: Some(0), gateway: Some(1), strategy: Some(2) };
        let told = Settings { cpus: told, ..Settings::default() };
        assert_eq!(cpus_of(&measured(&told, true, &[0, 900, 900, 0], 5)), [0, 1, 2]);
    }

    #[test]
    fn who_may_not_come_before_a_busy_neighbour_sleeps() {
        let settings = Settings::default();
        let busy = measured(&settings, false, &[450, 450, 450], 5);
        assert_eq!(waits_of(&busy), [Block, Block]);
        assert_eq!(busy.gateway.nice, 0);
        let words = "gateway: sleeps, others take 45 % of CPU 0 and it may not come first";
        assert!(busy.reason.contains(words), "{}", busy.reason);
        assert_eq!(waits_of(&measured(&settings, true, &[450, 450, 450], 5)), [Spin, Spin]);
        assert_eq!(waits_of(&measured(&settings, false, &[399, 399, 399], 5)), [Spin, Spin]);
        let told = Settings { wait: Some(Spin), ..Settings::default() };
        let told = measured(&told, false, &[450, 450, 450], 5);
        assert_eq!(waits_of(&told), [Spin, Spin]);
        assert!(told.reason.ends_with("strategy: spin, as it was told to"), "{}", told.reason);
    }

    #[test]
    fn beside_the_venue_who_would_wake_slowly_yields() {
        let settings = Settings::default();
        let fast = measured(&settings, false, &[3, 12], 100);
        assert_eq!(waits_of(&fast), [Block, Spin]);
        assert_eq!(
            fast.reason,
            "others take 0.3 % of CPU 0, 1.2 % of CPU 1; a wake-up takes 100.0 us; gateway: \
             sleeps, CPU 0 is the venue's too; strategy: spins, alone of this run on CPU 1"
        );
        let slow = measured(&settings, false, &[3, 12], 101);
        assert_eq!(waits_of(&slow), [Yield, Spin]);
        assert_eq!(slow.venue.expect("a venue").nice, 0);
        assert!(slow.reason.contains("and a wake-up is slow"), "{}", slow.reason);
        let one = measured(&settings, false, &[3], 5);
        assert!(one.reason.contains("gateway: yields, CPU 0 is gateway's and strategy's"));
    }

    #[test]
    fn nothing_is_measured_where_nothing_is_to_be_chosen() {
        let all = Cpus { venue: Some(0), gateway: Some(0), strategy: Some(0) };
        let told = Settings { wait: Some(Block), cpus: all, ..Settings::default() };
        assert_eq!(measure(&told, &[0]), Measured::default());
        let cpus = taut_sys::available_cpus().expect("cpus");
        assert!(!measure(&Settings::default(), &cpus).taken.is_empty());
    }
}
