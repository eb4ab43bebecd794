//! Keeps the worst orders, with what the looks around them show.

use std::cmp::Reverse;
use std::collections::VecDeque;

use taut_lat::{FlightRecord, STAGE_COUNT, Stage};
use taut_types::{InstrumentId, Nanos, RequestId};

use super::cause::{Cause, Facts};
use super::evidence::Evidence;
use super::look::{Look, MachineLook};
use super::outlier::{LookPoint, Outlier, OutlierTrace, Outliers, TracedOrder, TracedThread};
use super::worst::{Kept, Worst};

/// The last orders that are remembered: an order is held against those before it, and a trace
/// shows them.
const RECENT_MAX: usize = 1_024;
/// The last looks: at one each 20 ms, 80 seconds.
const LOOKS_MAX: usize = 4_096;
/// The last looks at the machine.
const MACHINE_LOOKS_MAX: usize = 512;
const MINUTE: Nanos = Nanos::from_secs(60);
/// The minutes whose worst orders are kept beside the worst of all.
pub const MINUTES_MAX: usize = 10;

/// Which orders are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keeping {
    /// Only those that took longer.
    pub above: Nanos,
    /// So many at most: the worst.
    pub worst_max: usize,
}

/// The orders of a minute.
#[derive(Clone, Debug)]
struct Minute {
    from: Nanos,
    orders: u64,
    worst: Worst,
}

/// Takes orders and looks, in the order of their times, and keeps the worst orders. Its memory is
/// bounded.
#[derive(Clone, Debug)]
pub struct Keeper {
    keeping: Keeping,
    /// Of the threads that are looked at, the gateway's first.
    names: Vec<String>,
    /// The strategy's place among them, where it has a thread of its own that is looked at.
    strategy: Option<usize>,
    is_fused: bool,
    /// Of all orders.
    worst: Worst,
    /// Of each of the last minutes, the oldest first.
    minutes: VecDeque<Minute>,
    recent: VecDeque<FlightRecord>,
    looks: VecDeque<Look>,
    machine: VecDeque<MachineLook>,
    first_machine: Option<MachineLook>,
    orders: u64,
    unread: u64,
    look_count: u64,
}

impl Keeper {
    /// Of the threads with these names, at the places that they have in a [`Look`]: first the
    /// gateway's, and `strategy` is what the strategy's is called. `is_fused`: it runs in the
    /// gateway's.
    #[must_use]
    pub fn new(keeping: Keeping, names: Vec<String>, is_fused: bool) -> Self {
        Self {
            keeping,
            strategy: names.iter().position(|name| name == "strategy"),
            names,
            is_fused,
            worst: Worst::new(keeping.worst_max),
            minutes: VecDeque::with_capacity(MINUTES_MAX),
            recent: VecDeque::with_capacity(RECENT_MAX),
            looks: VecDeque::with_capacity(LOOKS_MAX),
            machine: VecDeque::with_capacity(MACHINE_LOOKS_MAX),
            first_machine: None,
            orders: 0,
            unread: 0,
            look_count: 0,
        }
    }

    /// Takes the next order of the flight recorder.
    pub fn order(&mut self, record: &FlightRecord) {
        self.orders += 1;
        let total = record.stamps.offsets.total();
        let is_above = total > self.keeping.above.0.max(0).unsigned_abs();
        let worst_max = self.keeping.worst_max;
        let minute = minute_of(&mut self.minutes, record.stamps.origin, worst_max);
        minute.orders += 1;
        // The worst of all is among the worst of its minute.
        if is_above && minute.worst.has_room(total) {
            let kept = Kept::new(record, &self.recent);
            if self.worst.has_room(total) {
                self.worst.add(kept.clone());
            }
            minute.worst.add(kept);
        }
        push(&mut self.recent, *record, RECENT_MAX);
    }

    /// So many orders were overwritten before they could be taken.
    pub fn lost(&mut self, count: u64) {
        self.orders += count;
        self.unread += count;
    }

    /// Takes a look at the threads. All orders that had left by then were taken before.
    pub fn look(&mut self, look: &Look) {
        self.look_count += 1;
        push(&mut self.looks, *look, LOOKS_MAX);
        let Self { worst, minutes, looks, names, strategy, .. } = self;
        for kept in all(worst, minutes) {
            kept.take_looks(looks, names, *strategy);
        }
    }

    /// Takes a look at the machine, after a look at the threads.
    pub fn look_at_machine(&mut self, look: &MachineLook) {
        let first = *self.first_machine.get_or_insert(*look);
        push(&mut self.machine, *look, MACHINE_LOOKS_MAX);
        let Self { worst, minutes, machine, strategy, .. } = self;
        for kept in all(worst, minutes) {
            kept.take_machine(&first, machine, *strategy);
        }
    }

    /// What the orders come to: `usual_ns` is how long each stage takes usually, `symbol` names an
    /// instrument. With `since`, only orders from then on, of the last [`MINUTES_MAX`] minutes;
    /// how many there were is counted in whole minutes.
    #[must_use]
    pub fn told(
        &self,
        since: Option<Nanos>,
        usual_ns: &[u64; STAGE_COUNT],
        symbol: impl Fn(InstrumentId) -> String,
    ) -> (Outliers, OutlierTrace) {
        let (orders, kept) = since.map_or_else(
            || (self.orders, self.worst.kept().iter().collect()),
            |since| self.worst_since(since),
        );
        let mut told = Outliers {
            orders,
            unread: self.unread,
            above_ns: self.keeping.above.0.max(0).unsigned_abs(),
            looks: self.look_count,
            worst: kept.iter().map(|kept| self.judge(kept, usual_ns, &symbol)).collect(),
            ..Outliers::default()
        };
        told.count();
        (told, self.trace())
    }

    /// How many orders the minutes since then had, and the worst since then.
    fn worst_since(&self, since: Nanos) -> (u64, Vec<&Kept>) {
        let minutes = || self.minutes.iter().filter(|it| it.from + MINUTE > since);
        let mut kept: Vec<_> = minutes()
            .flat_map(|it| it.worst.kept())
            .filter(|kept| kept.record.stamps.origin >= since)
            .collect();
        kept.sort_by_key(|kept| Reverse(kept.total_ns()));
        kept.truncate(self.keeping.worst_max);
        (minutes().map(|it| it.orders).sum(), kept)
    }

    fn judge(
        &self,
        kept: &Kept,
        usual_ns: &[u64; STAGE_COUNT],
        symbol: &impl Fn(InstrumentId) -> String,
    ) -> Outlier {
        let record = &kept.record;
        let stages_ns = record.stamps.offsets.intervals();
        let excess =
            stages_ns.iter().zip(usual_ns).map(|(took, usual)| took.saturating_sub(*usual));
        let held = Stage::ALL.into_iter().zip(excess).max_by_key(|(_, excess)| *excess);
        let (stage, excess_ns) = held.unwrap_or((Stage::Send, 0));
        let nobody = Evidence::default();
        let [gateway, strategy] = kept.evidence().unwrap_or([&nobody, &nobody]);
        let is_strategys = matches!(stage, Stage::ToStrategy | Stage::Strategy) && !self.is_fused;
        let (evidence, thread) =
            if is_strategys { (strategy, "strategy") } else { (gateway, "gateway") };
        let Kept { queued, queued_ns, .. } = *kept;
        let facts = Facts { stage, excess_ns, queued, queued_ns, evidence };
        let cause = facts.cause();
        let by = evidence.neighbour.clone().filter(|_| cause == Cause::NeighbourThread);
        Outlier {
            order: id_of(record),
            symbol: symbol(record.instrument),
            at_ns: record.stamps.origin.0,
            total_ns: kept.total_ns(),
            stages_ns,
            held_by: stage.name().to_owned(),
            excess_ns,
            cause,
            by,
            why: facts.why(cause, thread),
            queued_behind: queued,
            evidence: evidence.clone(),
        }
    }

    fn trace(&self) -> OutlierTrace {
        let last = self.looks.back();
        let cpu = |place: usize| last.and_then(|look| look.threads.get(place)).map(|it| it.cpu);
        let threads = self.names.iter().enumerate().map(|(place, name)| TracedThread {
            name: name.clone(),
            cpu: cpu(place).unwrap_or_default(),
        });
        let orders = self.recent.iter().map(|record| TracedOrder {
            order: id_of(record),
            at_ns: record.stamps.origin.0,
            stages_ns: record.stamps.offsets.intervals(),
        });
        let pairs = self.looks.iter().zip(self.looks.iter().skip(1));
        let looks = pairs.flat_map(|(before, after)| {
            (0..self.names.len()).filter_map(move |thread| {
                let (was, is) = (before.threads.get(thread)?, after.threads.get(thread)?);
                let faults = (is.minor_faults + is.major_faults)
                    .saturating_sub(was.minor_faults + was.major_faults);
                let point = LookPoint {
                    thread,
                    from_ns: before.at.0,
                    to_ns: after.at.0,
                    waited_ns: is.waited.since(was.waited).0.max(0).unsigned_abs(),
                    involuntary_switches: is.involuntary.saturating_sub(was.involuntary),
                    page_faults: faults,
                };
                let LookPoint { waited_ns, involuntary_switches, page_faults, .. } = point;
                (waited_ns > 0 || involuntary_switches > 0 || page_faults > 0).then_some(point)
            })
        });
        OutlierTrace {
            threads: threads.collect(),
            is_fused: self.is_fused,
            orders: orders.collect(),
            looks: looks.collect(),
        }
    }
}

/// The minute of an order that was received then. A minute begins with its first order.
fn minute_of(minutes: &mut VecDeque<Minute>, at: Nanos, worst_max: usize) -> &mut Minute {
    if minutes.back().is_none_or(|last| at >= last.from + MINUTE) {
        push(minutes, Minute { from: at, orders: 0, worst: Worst::new(worst_max) }, MINUTES_MAX);
    }
    minutes.back_mut().expect("one was pushed")
}

/// Whatever is kept and may lack a look: all that is young.
fn all<'a>(
    worst: &'a mut Worst,
    minutes: &'a mut VecDeque<Minute>,
) -> impl Iterator<Item = &'a mut Kept> {
    let young = minutes.iter_mut().rev().take(2).flat_map(|it| it.worst.kept_mut());
    worst.kept_mut().chain(young)
}

fn push<T>(all: &mut VecDeque<T>, one: T, max: usize) {
    if all.len() >= max {
        all.pop_front();
    }
    all.push_back(one);
}

fn id_of(record: &FlightRecord) -> String {
    String::from_utf8_lossy(&RequestId::create(record.order).to_text()).into_owned()
}

#[cfg(test)]
mod tests {
    use taut_lat::StageClock;
    use taut_types::ClientOrderId;

    use super::*;
    use crate::outliers::look::ThreadTotals;

    const USUAL: [u64; STAGE_COUNT] = [300, 100, 100, 200, 200, 200, 100, 200, 6_000];

    /// An order whose packet was received then, with stages of the usual length but for one.
    fn order(number: u64, at: i64, stage: Stage, took: u64) -> FlightRecord {
        let mut stamps = StageClock::new(Nanos(at));
        let mut end = Nanos(at);
        for (one, usual) in Stage::ALL.into_iter().zip(USUAL) {
            let took = if one == stage { took } else { usual };
            end = end + Nanos(took.cast_signed());
            stamps.mark(one, end);
        }
        let (order, instrument) = (ClientOrderId(number), InstrumentId(0));
        FlightRecord { order, instrument, stamps }
    }

    fn keeper(above: i64, worst_max: usize) -> Keeper {
        let names = ["gateway", "strategy", "venue"].map(str::to_owned).to_vec();
        Keeper::new(Keeping { above: Nanos(above), worst_max }, names, false)
    }

    fn told(keeper: &Keeper) -> (Outliers, OutlierTrace) {
        keeper.told(None, &USUAL, |instrument| format!("S{}", instrument.0))
    }

    #[test]
    fn the_worst_are_kept_the_longest_first_and_those_below_the_threshold_are_not() {
        let mut keeper = keeper(20_000, 3);
        for (number, took) in (1..).zip([5_000, 900_000, 30_000, 70_000, 50_000, 1_000, 60_000]) {
            keeper.order(&order(number, number.cast_signed() * 1_000_000, Stage::Send, took));
        }
        keeper.lost(4);
        let (told, trace) = told(&keeper);
        let kept: Vec<_> = told.worst.iter().map(|it| it.stages_ns[8]).collect();
        assert_eq!(kept, [900_000, 70_000, 60_000]);
        assert_eq!((told.orders, told.unread, trace.orders.len()), (11, 4, 7));
        for it in &told.worst {
            assert_eq!(it.stages_ns.iter().sum::<u64>(), it.total_ns);
            assert_eq!((it.held_by.as_str(), it.symbol.as_str()), ("send", "S0"));
            assert_eq!((it.cause, it.why.contains("beyond the usual")), (Cause::SendCall, true));
        }
    }

    #[test]
    fn an_order_is_judged_by_the_looks_around_it_alone() {
        let mut keeper = keeper(0, 10);
        let look = |at: i64, waited: [i64; 2]| {
            let mut look = Look { at: Nanos(at), ..Look::default() };
            for (thread, waited) in look.threads.iter_mut().zip(waited) {
                *thread = ThreadTotals { waited: Nanos(waited), ..ThreadTotals::default() };
            }
            look
        };
        keeper.look(&look(0, [0, 0]));
        keeper.order(&order(1, 1_000_000, Stage::Risk, 800_000));
        keeper.look(&look(5_000_000, [0, 900_000]));
        // The gateway waits here, and the strategy does not.
        keeper.order(&order(2, 6_000_000, Stage::Risk, 800_000));
        keeper.order(&order(3, 7_000_000, Stage::Strategy, 800_000));
        keeper.look(&look(10_000_000, [700_000, 900_000]));
        keeper.look(&look(15_000_000, [9_700_000, 9_900_000]));
        let (told, trace) = told(&keeper);
        let of = |number: u64| {
            let id = id_of(&order(number, 0, Stage::Send, 0));
            told.worst.iter().find(|it| it.order == id).expect("it is kept")
        };
        assert_eq!(of(1).cause, Cause::Unknown);
        assert_eq!((of(2).cause, of(2).evidence.waited_ns), (Cause::Descheduled, 700_000));
        assert_eq!((of(3).cause, of(3).held_by.as_str()), (Cause::Strategy, "strategy"));
        assert_eq!(told.looks, 4);
        // Where nothing happened between two looks there is no point.
        assert_eq!(trace.looks.len(), 4, "{:?}", trace.looks);
    }

    #[test]
    fn an_order_that_waits_for_others_to_leave_is_part_of_a_burst() {
        let mut keeper = keeper(0, 10);
        // Ten orders are asked for at once, and leave one after the other.
        for number in 0..10 {
            let waits = 200 + number * 6_300;
            keeper.order(&order(number, 1_000_000, Stage::ToGateway, waits));
        }
        let (told, _) = told(&keeper);
        let last = told.worst.first().expect("orders");
        assert_eq!((last.cause, last.queued_behind), (Cause::Burst, 9));
        assert_eq!(last.held_by, "to_gateway");
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let mut keeper = keeper(0, 5);
        for at in 0..10_000 {
            keeper.order(&order(1, at * 10_000, Stage::Send, 6_000));
            keeper.look(&Look { at: Nanos(at * 10_000 + 9_000), ..Look::default() });
        }
        assert_eq!((keeper.recent.len(), keeper.looks.len()), (RECENT_MAX, LOOKS_MAX));
        assert_eq!(keeper.worst.kept().len(), 5);
    }

    #[test]
    fn of_the_last_minutes_the_worst_are_told_however_bad_an_earlier_one_was() {
        let mut keeper = keeper(0, 2);
        let second = 1_000_000_000;
        // The first minute has the worst orders of all, and leaves when ten more have come.
        for (number, (at, took)) in (1..).zip([(0, 900_000), (1, 800_000), (100, 30_000)]) {
            keeper.order(&order(number, at * second, Stage::Send, took));
        }
        for (number, took) in (4..).zip([40_000, 20_000]) {
            keeper.order(&order(number, 200 * second, Stage::Send, took));
        }
        keeper.look(&Look { at: Nanos(201 * second), ..Look::default() });
        let told = |since: i64| {
            let since = Some(Nanos(since * second));
            let (told, _) = keeper.told(since, &USUAL, |_| "S".to_owned());
            let took: Vec<_> = told.worst.iter().map(|it| it.stages_ns[8]).collect();
            (told.orders, took)
        };
        assert_eq!(told(0), (5, vec![900_000, 800_000]));
        assert_eq!(told(90), (3, vec![40_000, 30_000]));
        assert_eq!(told(150), (3, vec![40_000, 20_000]), "a minute is counted whole");
        assert_eq!(told(199), (2, vec![40_000, 20_000]));
        assert_eq!(told(300), (0, vec![]));
        for minute in 4..14 {
            keeper.order(&order(9, minute * 60 * second, Stage::Send, 7_000));
        }
        assert_eq!(keeper.minutes.len(), MINUTES_MAX);
        assert!(keeper.minutes.iter().all(|it| it.from >= Nanos(200 * second)));
    }
}
