//! The worst orders, to be told.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use taut_lat::{STAGE_COUNT, Stage};

use super::cause::Cause;
use super::evidence::Evidence;
use super::others::Other;

/// An order that took long.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outlier {
    /// Its id at the venue (ClOrdID).
    pub order: String,
    /// What it trades.
    pub symbol: String,
    /// When its packet was received, ns on the monotonic clock.
    pub at_ns: i64,
    /// From there to the return of its send call, ns.
    pub total_ns: u64,
    /// How long each stage took, ns: they add up to the total.
    #[serde(with = "by_stage")]
    pub stages_ns: [u64; STAGE_COUNT],
    /// The stage that took longest beyond its usual time, which is the median of the run.
    pub held_by: String,
    /// How far beyond, ns.
    pub excess_ns: u64,
    /// Why.
    pub cause: Cause,
    /// Which thread had the CPU, where that is the cause.
    pub by: Option<String>,
    /// The numbers that show it.
    pub why: String,
    /// Orders that left between its request and its own turn.
    pub queued_behind: u32,
    /// What the looks around it show, of the thread that had the stage.
    pub evidence: Evidence,
}

/// How many orders had a cause.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CauseCount {
    /// The cause.
    pub cause: Cause,
    /// Which thread had the CPU, where that is the cause.
    pub by: Option<String>,
    /// How many.
    pub count: u64,
}

/// The worst orders of a run, or of a gateway since it began.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outliers {
    /// Orders that the flight recorder had.
    pub orders: u64,
    /// Orders that were overwritten before they were looked at: they may have been worse.
    pub unread: u64,
    /// Only orders that took longer were kept, ns.
    pub above_ns: u64,
    /// Looks at the threads.
    pub looks: u64,
    /// By cause, the most frequent first.
    pub causes: Vec<CauseCount>,
    /// What else ran on the CPUs of the threads, where that was looked at.
    pub others: Vec<Other>,
    /// The orders, the longest first.
    pub worst: Vec<Outlier>,
}

impl Outlier {
    /// What it did, by its cause: `was descheduled`.
    #[must_use]
    pub fn words(&self) -> String {
        self.cause.words(self.by.as_deref(), 1)
    }
}

impl Outliers {
    /// What the worst orders have in common, as one sentence; nothing when there is none.
    #[must_use]
    pub fn sentence(&self) -> Option<String> {
        if let [one] = self.worst.as_slice() {
            return Some(format!("the worst order {}", one.words()));
        }
        let words = |it: &CauseCount| it.cause.words(it.by.as_deref(), it.count);
        let counts = self.causes.iter().map(|it| format!("{} {}", it.count, words(it)));
        let counts: Vec<_> = counts.collect();
        let orders = self.worst.len();
        (orders > 0).then(|| format!("of the {orders} worst orders {}", counts.join(", ")))
    }

    /// Counts the causes.
    pub(super) fn count(&mut self) {
        let mut counts: BTreeMap<(Cause, Option<String>), u64> = BTreeMap::new();
        for it in &self.worst {
            *counts.entry((it.cause, it.by.clone())).or_default() += 1;
        }
        let counts = counts.into_iter();
        self.causes = counts.map(|((cause, by), count)| CauseCount { cause, by, count }).collect();
        // Of causes with as many orders, the order of the rules stays.
        self.causes.sort_by_key(|it| std::cmp::Reverse(it.count));
    }
}

/// A thread of a trace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TracedThread {
    /// What people know it by.
    pub name: String,
    /// The CPU that it ran on last.
    pub cpu: usize,
}

/// An order of a trace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TracedOrder {
    /// Its id at the venue.
    pub order: String,
    /// When its packet was received, ns on the monotonic clock.
    pub at_ns: i64,
    /// How long each stage took, ns.
    #[serde(with = "by_stage")]
    pub stages_ns: [u64; STAGE_COUNT],
}

/// What happened to a thread between two looks. Where nothing did, there is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LookPoint {
    /// The thread's place in [`OutlierTrace::threads`].
    pub thread: usize,
    /// When the first of the looks was, ns on the monotonic clock.
    pub from_ns: i64,
    /// When the second one was.
    pub to_ns: i64,
    /// It could have run, and did not, ns.
    pub waited_ns: u64,
    /// How often the CPU was taken from it.
    pub involuntary_switches: u64,
    /// Pages that it missed.
    pub page_faults: u64,
}

/// What a trace is drawn from, beside the worst orders: the last seconds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutlierTrace {
    /// The threads: first the gateway's.
    pub threads: Vec<TracedThread>,
    /// Whether the strategy runs in the gateway's thread.
    pub is_fused: bool,
    /// The last orders, in the order in which they left.
    pub orders: Vec<TracedOrder>,
    /// The last looks.
    pub looks: Vec<LookPoint>,
}

/// Times of the stages under their names.
mod by_stage {
    use serde::{Deserialize, Deserializer, Serializer};

    use super::{BTreeMap, STAGE_COUNT, Stage};

    pub fn serialize<S: Serializer>(times: &[u64; STAGE_COUNT], to: S) -> Result<S::Ok, S::Error> {
        to.collect_map(Stage::ALL.map(Stage::name).into_iter().zip(times))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<[u64; STAGE_COUNT], D::Error> {
        let times = BTreeMap::<String, u64>::deserialize(from)?;
        Ok(Stage::ALL.map(|stage| times.get(stage.name()).copied().unwrap_or_default()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sentence_counts_by_cause_the_most_frequent_first() {
        let order = |cause, by: Option<&str>| Outlier {
            cause,
            by: by.map(str::to_owned),
            ..Outlier::default()
        };
        let mut all = Outliers::default();
        assert_eq!(all.sentence(), None);
        all.worst = vec![
            order(Cause::SendCall, None),
            order(Cause::Descheduled, None),
            order(Cause::NeighbourThread, Some("venue")),
            order(Cause::Descheduled, None),
        ];
        all.count();
        let last = all.worst.pop().expect("an order");
        assert_eq!(last.words(), "was descheduled");
        all.worst.push(last);
        let expected = "of the 4 worst orders 2 were descheduled, 1 waited for the venue's thread, \
                        which had its CPU, 1 waited in the send call";
        assert_eq!(all.sentence().as_deref(), Some(expected));
    }

    #[test]
    fn what_is_told_is_read_back() {
        let outlier = Outlier { stages_ns: [1, 2, 3, 4, 5, 6, 7, 8, 9], ..Outlier::default() };
        let all = Outliers { worst: vec![outlier], ..Outliers::default() };
        let text = serde_json::to_string(&all).expect("JSON");
        assert!(text.contains("\"stages_ns\":{\"decode\":1,\"book\":2,"), "{text}");
        assert_eq!(serde_json::from_str::<Outliers>(&text).expect("the same"), all);
    }
}
