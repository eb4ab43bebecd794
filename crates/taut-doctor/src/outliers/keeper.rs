//! Keeps the worst orders, with what the looks around them show.

use std::collections::VecDeque;

use taut_lat::{FlightRecord, STAGE_COUNT, Stage};
use taut_types::{InstrumentId, Nanos, RequestId};

use super::cause::{Cause, Facts};
use super::evidence::Evidence;
use super::look::{Look, MachineLook};
use super::outlier::{LookPoint, Outlier, OutlierTrace, Outliers, TracedOrder, TracedThread};

/// The last orders that are remembered: an order is held against those before it, and a trace
/// shows them.
const RECENT_MAX: usize = 1_024;
/// The last looks: at one each 5 ms, 20 seconds.
const LOOKS_MAX: usize = 4_096;
/// The last looks at the machine.
const MACHINE_LOOKS_MAX: usize = 512;

/// Which orders are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keeping {
    /// Only those that took longer.
    pub above: Nanos,
    /// So many at most: the worst.
    pub worst_max: usize,
}

/// An order that is kept.
#[derive(Clone, Debug)]
struct Kept {
    record: FlightRecord,
    queued: u32,
    queued_ns: u64,
    /// Of the gateway's thread and of the strategy's, once there was a look behind it.
    evidence: Option<[Evidence; 2]>,
    has_machine: bool,
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
    /// The longest first.
    kept: Vec<Kept>,
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
            kept: Vec::with_capacity(keeping.worst_max + 1),
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
        let total = total_ns(record);
        if total > self.keeping.above.0.max(0).unsigned_abs() {
            let place = self.kept.partition_point(|other| total_ns(&other.record) >= total);
            if place < self.keeping.worst_max {
                let (queued, queued_ns) = self.queued(record);
                let (record, evidence) = (*record, None);
                let kept = Kept { record, queued, queued_ns, evidence, has_machine: false };
                self.kept.insert(place, kept);
                self.kept.truncate(self.keeping.worst_max);
            }
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
        let Self { kept, looks, names, strategy, .. } = self;
        for one in kept.iter_mut().filter(|it| it.evidence.is_none() && it.record.sent() <= look.at)
        {
            let around = around(looks, &one.record, |look| look.at);
            let of = |place| match (around, place) {
                (Some((before, after)), Some(place)) => {
                    Evidence::between(before, after, place, names)
                }
                _ => Evidence::default(),
            };
            one.evidence = Some([of(Some(0)), of(*strategy)]);
        }
    }

    /// Takes a look at the machine, after a look at the threads.
    pub fn look_at_machine(&mut self, look: &MachineLook) {
        let first = *self.first_machine.get_or_insert(*look);
        push(&mut self.machine, *look, MACHINE_LOOKS_MAX);
        let Self { kept, machine, strategy, .. } = self;
        for one in kept.iter_mut().filter(|it| !it.has_machine && it.record.sent() <= look.at) {
            let Some([gateway, other]) = &mut one.evidence else { continue };
            one.has_machine = true;
            let Some(pair) = around(machine, &one.record, |look| look.at) else { continue };
            gateway.add_machine(&first, pair, 0);
            if let Some(place) = *strategy {
                other.add_machine(&first, pair, place);
            }
        }
    }

    /// What the orders come to: `usual_ns` is how long each stage takes usually, `symbol` names an
    /// instrument.
    #[must_use]
    pub fn told(
        &self,
        usual_ns: &[u64; STAGE_COUNT],
        symbol: impl Fn(InstrumentId) -> String,
    ) -> (Outliers, OutlierTrace) {
        let mut told = Outliers {
            orders: self.orders,
            unread: self.unread,
            above_ns: self.keeping.above.0.max(0).unsigned_abs(),
            looks: self.look_count,
            worst: self.kept.iter().map(|kept| self.judge(kept, usual_ns, &symbol)).collect(),
            ..Outliers::default()
        };
        told.count();
        (told, self.trace())
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
        let [gateway, strategy] =
            kept.evidence.as_ref().map_or([&nobody, &nobody], <[Evidence; 2]>::each_ref);
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
            total_ns: total_ns(record),
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

    /// How many orders left between this one's request and its turn, and how long they took of that
    /// time.
    fn queued(&self, record: &FlightRecord) -> (u32, u64) {
        let asked = record.end(Stage::Strategy);
        let before = self.recent.iter().rev().take_while(|other| other.sent() > asked);
        let taken = |other: &FlightRecord| {
            let began = other.end(Stage::ToGateway).max(asked);
            other.sent().since(began).0.max(0).unsigned_abs()
        };
        before.fold((0, 0), |(count, ns), other| (count + 1, ns + taken(other)))
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

/// The last look before an order's packet was received, and the first one after it had left;
/// nothing where there are not both.
fn around<'a, T>(
    looks: &'a VecDeque<T>,
    record: &FlightRecord,
    at: impl Fn(&T) -> Nanos,
) -> Option<(&'a T, &'a T)> {
    let behind = looks.partition_point(|look| at(look) <= record.stamps.origin);
    let after = looks.partition_point(|look| at(look) < record.sent());
    Some((looks.get(behind.checked_sub(1)?)?, looks.get(after)?))
}

fn push<T>(all: &mut VecDeque<T>, one: T, max: usize) {
    if all.len() >= max {
        all.pop_front();
    }
    all.push_back(one);
}

fn total_ns(record: &FlightRecord) -> u64 {
    record.stamps.offsets.total()
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
        keeper.told(&USUAL, |instrument| format!("S{}", instrument.0))
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
        assert_eq!(keeper.kept.len(), 5);
    }
}
