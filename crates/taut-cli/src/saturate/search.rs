//! The search for the knee: up by half until a rate gives way, or down by halves until one holds,
//! then into the interval between.

use serde::Serialize;
use serde_json::Value;
use taut_sys::stop_requests;
use taut_types::Nanos;

use super::arguments::Arguments;
use crate::channel::pair;
use crate::exit::Failure;
use crate::progress::Progress;

/// Runs between the last rate that held and the first that did not.
const HALVINGS: usize = 3;
/// How often a rate is tried that does not hold: a hiccup of the machine is not the channel's knee.
const ATTEMPTS: usize = 3;
/// Runs below the first rate, each at half of the one before, when that one gave way.
const DESCENTS: usize = 6;
/// What a run at full speed is taken to reach, so that it lasts about as long as the others.
const FULL_SPEED_AT_LEAST: u64 = 1_000_000;

/// The interval that the knee is in, and how it was found.
#[derive(Debug, Default)]
struct Bounds {
    steps: Vec<Step>,
    held: Option<u64>,
    failed: Option<u64>,
}

impl Bounds {
    fn note(&mut self, rate: u64, step: Step) {
        if step.failed.is_some() {
            self.failed = Some(self.failed.map_or(rate, |failed| failed.min(rate)));
        } else {
            self.held = Some(self.held.map_or(rate, |held| held.max(rate)));
        }
        self.steps.push(step);
    }
}

/// One rate, as it went.
#[derive(Clone, Debug, Serialize)]
pub struct Step {
    /// What was asked for; nothing for full speed.
    pub rate: Option<u64>,
    /// What arrived.
    pub msgs_per_s: f64,
    /// From the intended time, in nanoseconds.
    pub intended_ns: Percentiles,
    pub lost_share: f64,
    /// CPUs that both ends kept busy, from their start to their end.
    pub cpus: f64,
    pub memory_bytes: u64,
    pub wire_bytes_per_message: f64,
    /// Why the rate did not hold.
    pub failed: Option<&'static str>,
}

/// Some percentiles, under the names that they have everywhere.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Percentiles {
    pub p50: u64,
    pub p99: u64,
    pub p999: u64,
}

/// What was found.
#[derive(Clone, Debug)]
pub struct Found {
    /// In the order of their rates.
    pub steps: Vec<Step>,
    /// The highest rate that held; nothing when none did.
    pub knee: Option<u64>,
    /// What gave way above it; nothing when all rates held.
    pub gave_way: Option<&'static str>,
    pub full_speed: Option<Step>,
}

pub struct Search<'a> {
    arguments: &'a Arguments,
    uri: &'a str,
    progress: Progress,
    /// The rate that a run at full speed is made as long for.
    fastest: u64,
}

impl<'a> Search<'a> {
    pub fn new(arguments: &'a Arguments, uri: &'a str) -> Self {
        Self { arguments, uri, progress: Progress::start(), fastest: FULL_SPEED_AT_LEAST }
    }

    pub fn run(mut self) -> Result<Found, Failure> {
        let mut bounds = Bounds::default();
        let mut rate = self.arguments.from;
        loop {
            bounds.note(rate, self.hold(rate)?);
            if bounds.failed.is_some() || rate >= self.arguments.to {
                break;
            }
            rate = (rate + rate / 2).max(rate + 1).min(self.arguments.to);
        }
        for _ in 0..DESCENTS {
            if bounds.held.is_some() || rate < 2 {
                break;
            }
            rate /= 2;
            bounds.note(rate, self.hold(rate)?);
        }
        for _ in 0..HALVINGS {
            let (Some(low), Some(high)) = (bounds.held, bounds.failed) else { break };
            let middle = low + (high - low) / 2;
            if middle == low {
                break;
            }
            bounds.note(middle, self.hold(middle)?);
        }
        self.fastest = bounds.held.unwrap_or(1).max(FULL_SPEED_AT_LEAST);
        let Bounds { mut steps, held, .. } = bounds;
        steps.sort_by_key(|step| step.rate);
        let gave_way = steps.iter().filter(|step| step.rate > held).find_map(|step| step.failed);
        let full_speed = Some(self.step(None)?);
        Ok(Found { steps, knee: held, gave_way, full_speed })
    }

    /// The first attempt at a rate that held, or the last one.
    fn hold(&mut self, rate: u64) -> Result<Step, Failure> {
        let mut step = self.step(Some(rate))?;
        for _ in 1..ATTEMPTS {
            if step.failed.is_none() {
                break;
            }
            step = self.step(Some(rate))?;
        }
        Ok(step)
    }

    fn step(&mut self, rate: Option<u64>) -> Result<Step, Failure> {
        if stop_requests() > 0 {
            return Err(Failure::Run("interrupted".to_owned()));
        }
        let shown = rate.map_or("full speed".to_owned(), |rate| format!("{rate} messages/s"));
        self.progress.tell(&shown);
        let arguments = self.arguments;
        let count = rate.unwrap_or(self.fastest) as f64 * arguments.seconds;
        let count = (count.ceil() as u64).max(20);
        let wait = arguments.wait.strategy().name();
        let with_cpu = |verb: &str, cpu: Option<&usize>| {
            let words = [verb, "--channel", self.uri, "--wait", wait];
            let mut words: Vec<String> = words.map(str::to_owned).to_vec();
            words.extend(cpu.into_iter().flat_map(|cpu| ["--cpu".to_owned(), cpu.to_string()]));
            words
        };
        let receive = with_cpu("receive", arguments.cpus.last());
        let mut send = with_cpu("send", arguments.cpus.first());
        let rate_text = rate.map_or("max".to_owned(), |rate| rate.to_string());
        let numbers = [
            ("--rate", rate_text),
            ("--count", count.to_string()),
            ("--size", arguments.size.to_string()),
        ];
        send.extend(numbers.into_iter().flat_map(|(name, value)| [name.to_owned(), value]));
        let patience = Nanos((arguments.seconds * 4e9) as i64) + Nanos::from_secs(30);
        let outcome = pair::run(&receive, &send, patience)?;
        Ok(judged(arguments, rate, &outcome))
    }
}

fn judged(arguments: &Arguments, rate: Option<u64>, outcome: &pair::Outcome) -> Step {
    let number = |value: &Value| value.as_f64().unwrap_or(0.0);
    let ns = |name: &str| outcome.received["intended_ns"][name].as_u64().unwrap_or(0);
    let intended_ns = Percentiles { p50: ns("p50"), p99: ns("p99"), p999: ns("p999") };
    let (sent, seconds) = (number(&outcome.sent["sent"]), number(&outcome.sent["seconds"]));
    let lost = number(&outcome.received["lost"]);
    let offered = if seconds > 0.0 { sent / seconds } else { 0.0 };
    let lost_share = if sent > 0.0 { lost / sent } else { 1.0 };
    let failed = match rate {
        _ if lost_share > arguments.loss => Some("loss"),
        // The sender's own time counts from the first message to the last.
        Some(rate) if offered < 0.95 * rate as f64 => Some("rate"),
        Some(_) if intended_ns.p99 as f64 / 1e3 > arguments.p99_us => Some("latency"),
        _ => None,
    };
    Step {
        rate,
        msgs_per_s: number(&outcome.received["msgs_per_s"]).round(),
        intended_ns,
        lost_share,
        cpus: outcome.cpu_s / outcome.seconds.max(0.001),
        memory_bytes: outcome.memory_bytes,
        wire_bytes_per_message: outcome.wire_bytes as f64 / sent.max(1.0),
        failed,
    }
}
