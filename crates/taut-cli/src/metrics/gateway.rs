//! What is told of gateways.

use taut_gateway::GatewayCounters;
use taut_lat::{Snapshot, Stage};
use taut_runner::service::{Status, StrategyLine};
use taut_types::Nanos;

use super::exposition::{Exposition, Kind, seconds};
use crate::observed::model::State;
use crate::observed::thread::ThreadTotals;
use crate::observed::{Seen, Totals};

/// Counters that fall as they rise: what they are now is told.
const GAUGES: [&str; 6] =
    ["highest_seen", "live", "bid_levels", "ask_levels", "logged_on", "waiting_cancels"];

/// A number of a gateway's status.
type Number = (&'static str, Kind, &'static str, fn(&Status) -> Option<String>);

const fn flag(is: bool) -> &'static str {
    if is { "1" } else { "0" }
}

fn microseconds(us: i64) -> String {
    let sign = if us < 0 { "-" } else { "" };
    format!("{sign}{}", seconds(us.unsigned_abs().saturating_mul(1_000)))
}

const NUMBERS: [Number; 12] = [
    ("uptime_seconds", Kind::Gauge, "How long the process has run.", |it| {
        Some(it.up_seconds.to_string())
    }),
    ("order_entry_up", Kind::Gauge, "1 while orders can be sent.", |it| {
        Some(flag(it.order_entry).to_owned())
    }),
    (
        "order_address_priority",
        Kind::Gauge,
        "Which address orders go to: 0 is the primary.",
        |it| Some(it.order_priority.to_string()),
    ),
    ("books_sound", Kind::Gauge, "1 while every book can be trusted.", |it| {
        Some(flag(it.books_sound).to_owned())
    }),
    ("stale_books", Kind::Gauge, "Books that cannot be trusted.", |it| {
        Some(it.stale_books.len().to_string())
    }),
    ("instruments", Kind::Gauge, "Instruments.", |it| Some(it.instruments.to_string())),
    ("open_orders", Kind::Gauge, "Orders that are not over.", |it| {
        Some(it.open_orders.to_string())
    }),
    ("killed", Kind::Gauge, "1 while anything is killed and was not revived.", |it| {
        Some(flag(it.killed).to_owned())
    }),
    (
        "positions_differing",
        Kind::Gauge,
        "Positions that were other ones at the venue when they were compared last.",
        |it| Some(it.position_differences.len().to_string()),
    ),
    (
        "venue_clock_ahead_seconds",
        Kind::Gauge,
        "How far the venue's clock is ahead of this machine's, where it is asked.",
        |it| it.venue_clock.map(|clock| microseconds(clock.ahead_us)),
    ),
    (
        "venue_clock_round_trip_seconds",
        Kind::Gauge,
        "How long the question for the venue's clock and its answer took.",
        |it| it.venue_clock.map(|clock| microseconds(clock.round_trip_us)),
    ),
    ("venue_clock_jumps_total", Kind::Counter, "How often the venue's clock jumped.", |it| {
        it.venue_clock.map(|clock| clock.jumps.to_string())
    }),
];

/// A number of a strategy.
type OfStrategy = (&'static str, Kind, &'static str, fn(&StrategyLine) -> u64);

const OF_STRATEGIES: [OfStrategy; 5] = [
    ("attached", Kind::Gauge, "1 while it is attached.", |it| it.attached.into()),
    ("lag_events", Kind::Gauge, "Market events that it has not read yet.", |it| it.lag),
    (
        "lost_events_total",
        Kind::Counter,
        "Market events that it lost since it attached, because it read too slowly.",
        |it| it.lapped,
    ),
    (
        "requests_without_room_total",
        Kind::Counter,
        "Requests since it attached for which there was no room.",
        |it| it.full,
    ),
    (
        "drops_total",
        Kind::Counter,
        "How often it was dropped because it left its replies unread.",
        |it| it.dropped,
    ),
];

/// A number of the thread that trades, or of its CPU.
type OfThread = (&'static str, &'static str, fn(&ThreadTotals) -> String);

fn span(ns: Nanos) -> String {
    seconds(ns.0.unsigned_abs())
}

const OF_THREADS: [OfThread; 10] = [
    ("thread_run_seconds_total", "How long the thread that trades ran.", |it| {
        span(it.look.threads[0].ran)
    }),
    (
        "thread_wait_seconds_total",
        "How long it could have run, and others had its CPU, or its control group was stopped.",
        |it| span(it.look.threads[0].waited),
    ),
    ("thread_sleeps_total", "How often it slept.", |it| it.look.threads[0].voluntary.to_string()),
    ("thread_preemptions_total", "How often the CPU was taken from it.", |it| {
        it.look.threads[0].involuntary.to_string()
    }),
    ("thread_minor_faults_total", "Pages that it missed and the kernel had.", |it| {
        it.look.threads[0].minor_faults.to_string()
    }),
    ("thread_major_faults_total", "Pages that it missed and that came from a disk.", |it| {
        it.look.threads[0].major_faults.to_string()
    }),
    (
        "cgroup_throttled_total",
        "How often its control groups were stopped: their quota of CPU time was used up.",
        |it| it.look.throttled.count.to_string(),
    ),
    ("cgroup_throttled_seconds_total", "How long they were.", |it| span(it.look.throttled.time)),
    ("cpu_stolen_seconds_total", "How long the hypervisor had its CPU.", |it| {
        span(it.machine.cpus[0].stolen)
    }),
    ("cpu_interrupts_total", "Interrupts that came to its CPU.", |it| {
        it.machine.cpus[0].interrupts.to_string()
    }),
];

/// What was seen of gateways, for Prometheus.
pub fn told<'a>(all: impl Iterator<Item = &'a Seen>) -> String {
    let now = |seen: &'a Seen| seen.totals.as_deref().filter(|_| seen.state == State::Up);
    let all: Vec<(&str, Option<&Totals>)> =
        all.map(|seen| (seen.name.as_str(), now(seen))).collect();
    let mut text = Exposition::default();
    text.family("taut_up", Kind::Gauge, "1 while the gateway answers.");
    for (name, now) in &all {
        text.sample(&[("gateway", name)], u8::from(now.is_some()));
    }
    let answering: Vec<(&str, &Totals)> =
        all.into_iter().filter_map(|(name, now)| Some((name, now?))).collect();
    text.family("taut_gateway_info", Kind::Gauge, "1, with what the gateway is as labels.");
    for (name, now) in &answering {
        let process = now.status.process.to_string();
        let labels = [
            ("gateway", *name),
            ("version", env!("CARGO_PKG_VERSION")),
            ("process", &process),
            ("paper", flag(now.status.paper)),
        ];
        text.sample(&labels, 1);
    }
    for (name, kind, help, of) in NUMBERS {
        text.family(&format!("taut_gateway_{name}"), kind, help);
        for (gateway, now) in &answering {
            if let Some(value) = of(&now.status) {
                text.sample(&[("gateway", gateway)], value);
            }
        }
    }
    counters(&mut text, &answering);
    for (name, kind, help, of) in OF_STRATEGIES {
        text.family(&format!("taut_strategy_{name}"), kind, help);
        for (gateway, now) in &answering {
            for strategy in &now.status.strategies {
                text.sample(&[("gateway", gateway), ("strategy", &strategy.name)], of(strategy));
            }
        }
    }
    for (name, help, of) in OF_THREADS {
        text.family(&format!("taut_{name}"), Kind::Counter, help);
        for (gateway, now) in &answering {
            text.sample(&[("gateway", gateway)], of(&now.thread));
        }
    }
    durations(&mut text, &answering);
    text.finish()
}

fn counters(text: &mut Exposition, answering: &[(&str, &Totals)]) {
    let names = GatewayCounters::default().named().map(|(name, _)| name);
    for (at, (name, help)) in names.into_iter().zip(GatewayCounters::MEANINGS).enumerate() {
        let is_gauge = GAUGES.contains(&name);
        let (kind, end) = if is_gauge { (Kind::Gauge, "") } else { (Kind::Counter, "_total") };
        text.family(&format!("taut_gateway_{name}{end}"), kind, help);
        for (gateway, now) in answering {
            text.sample(&[("gateway", gateway)], now.counters.named()[at].1);
        }
    }
}

fn durations(text: &mut Exposition, answering: &[(&str, &Totals)]) {
    let help = "Where the time of an order goes, stage by stage, from the packet that caused it.";
    text.family("taut_stage_seconds", Kind::Histogram, help);
    for (gateway, now) in answering {
        for (stage, durations) in Stage::ALL.iter().zip(&now.path.stages) {
            let stage = stage.name().replace([' ', '-'], "_");
            text.histogram(&[("gateway", gateway), ("stage", &stage)], durations);
        }
    }
    type Of = fn(&Totals) -> &Snapshot;
    let wholes: [(&str, &str, Of); 3] = [
        (
            "taut_tick_to_trade_seconds",
            "From the packet to the order with the kernel, all stages.",
            |now| &now.path.tick_to_trade,
        ),
        ("taut_tick_to_send_seconds", "The same without the send call.", |now| {
            &now.path.tick_to_send
        }),
        (
            "taut_order_round_trip_seconds",
            "From the send call of an order to the venue's first answer.",
            |now| &now.round_trip,
        ),
    ];
    for (name, help, of) in wholes {
        text.family(name, Kind::Histogram, help);
        for (gateway, now) in answering {
            text.histogram(&[("gateway", gateway)], of(now));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;

    use taut_lat::PathSnapshot;

    use super::*;

    fn thread() -> ThreadTotals {
        let mut totals = ThreadTotals::default();
        totals.look.threads[0].waited = Nanos::from_millis(1_500);
        totals
    }

    /// Everything that can be told, of two gateways and one that does not answer.
    fn all() -> String {
        let status = || {
            let strategies =
                vec![StrategyLine { name: "touch".to_owned(), lag: 3, ..StrategyLine::default() }];
            let mut status = Status::default();
            status.strategies = strategies;
            status.venue_clock = Some(taut_runner::service::VenueClockLine {
                ahead_us: -1_500,
                round_trip_us: 20,
                jumps: 1,
            });
            Box::new(status)
        };
        let totals = || Totals {
            status: status(),
            counters: GatewayCounters { ticks: 7, ..GatewayCounters::default() },
            path: PathSnapshot {
                stages: std::array::from_fn(|_| Snapshot::new()),
                tick_to_send: Snapshot::new(),
                tick_to_trade: Snapshot::new(),
            },
            round_trip: Snapshot::new(),
            thread: thread(),
        };
        let seen =
            |name: &str, state| Seen { state, totals: Some(Box::new(totals())), ..Seen::of(name) };
        let all = [seen("a", State::Up), seen("b", State::Up), seen("c", State::Silent)];
        told(all.iter())
    }

    /// Name, type and help of each family, in their order.
    fn families(text: &str) -> Vec<(String, String, String)> {
        let helps = text.lines().filter_map(|line| line.strip_prefix("# HELP ")?.split_once(' '));
        let types = text.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split_once(' '));
        helps
            .zip(types)
            .map(|((name, help), (same, kind))| {
                assert_eq!(name, same);
                (name.to_owned(), kind.to_owned(), help.to_owned())
            })
            .collect()
    }

    #[test]
    fn names_are_as_prometheus_asks() {
        let text = all();
        let families = families(&text);
        let names: BTreeSet<_> = families.iter().map(|(name, ..)| name).collect();
        assert_eq!(names.len(), families.len(), "a family stands in one place");
        for (name, kind, help) in &families {
            assert!(name.starts_with("taut_"), "{name}: whose it is");
            let legal = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
            assert!(name.chars().all(legal), "{name}: letters");
            assert_eq!(name.ends_with("_total"), kind == "counter", "{name}: {kind}");
            for unit in ["_ns", "_us", "_ms", "_micros", "_nanoseconds", "_milliseconds"] {
                assert!(!name.contains(unit), "{name}: base units");
            }
            assert!(kind != "histogram" || name.ends_with("_seconds"), "{name}: its unit");
            assert!(help.ends_with('.') && !help.contains("  "), "{name}: {help:?}");
        }
        let reserved = |line: &&str| line.contains("le=") && !line.contains("_bucket{");
        assert_eq!(text.lines().find(reserved), None);
    }

    #[test]
    fn what_is_told_is_what_was_seen() {
        let text = all();
        for line in [
            "taut_up{gateway=\"a\"} 1",
            "taut_up{gateway=\"c\"} 0",
            "taut_gateway_ticks_total{gateway=\"b\"} 7",
            "taut_gateway_venue_clock_ahead_seconds{gateway=\"a\"} -0.0015",
            "taut_strategy_lag_events{gateway=\"a\",strategy=\"touch\"} 3",
            "taut_thread_wait_seconds_total{gateway=\"a\"} 1.5",
            "taut_stage_seconds_count{gateway=\"a\",stage=\"book\"} 0",
        ] {
            assert!(text.lines().any(|it| it == line), "{line}\n{text}");
        }
        assert!(!text.contains("taut_gateway_ticks_total{gateway=\"c\"}"));
        for gauge in GAUGES {
            assert!(text.contains(&format!("# TYPE taut_gateway_{gauge} gauge")), "{gauge}");
        }
    }

    /// Dashboards and rules name what exists.
    #[test]
    fn dashboards_and_alerts_ask_for_what_is_told() {
        let told: BTreeSet<_> = families(&all()).into_iter().map(|(name, ..)| name).collect();
        let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/operate");
        for file in ["grafana-gateways.json", "prometheus-alerts.yml"] {
            let text = fs::read_to_string(format!("{root}/{file}")).expect(file);
            let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
            let mut asked = 0;
            for word in words.filter(|word| word.starts_with("taut_")) {
                let ends = ["", "_bucket", "_sum", "_count"];
                let is_told = ends
                    .iter()
                    .any(|end| word.strip_suffix(end).is_some_and(|family| told.contains(family)));
                assert!(is_told, "{file} asks for {word}, which nobody tells");
                asked += 1;
            }
            assert!(asked > 5, "{file}");
        }
    }
}
