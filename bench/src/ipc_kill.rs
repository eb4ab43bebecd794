//! `taut-bench ipc-kill`: SIGKILL at random times under full load.
//!
//! This process judges. A victim that writes is a copy of it that takes over the stream and writes
//! as fast as it can; after each message it notes the position in memory of its own, so that the
//! judge, a registered reader, knows what was committed and must arrive. A victim that reads
//! registers with a stream that the judge writes; after its death the judge must get on. Ticks, the
//! log and requests take turns. A third process kills, so that the ring is in full use until the
//! victim's last instruction; a kill counts as in the middle of a write when it met the victim in a
//! call that it had not been refused before.

mod ends;
mod judge;
mod killer;
mod plan;
mod victim;

use clap::{Args, ValueEnum};
use serde_json::json;
use taut_ipc::{Channel, ChannelOptions, Segment};
use taut_sys::{pin_to_cpu, process_id, stop_requests, utc};

use crate::ipc_kill::judge::{Judge, Outcome};
use crate::ipc_kill::plan::{JUDGE_CPU, NOTES, Ring, STREAMS};
use taut_report::exit::catch_stop_signals;
use taut_report::terminal::print;
use taut_report::{Conditions, Failure, Progress, Watch};

/// Who is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Victim {
    Writer,
    Reader,
    Both,
}

/// How many kills, and of whom.
#[derive(Args, Debug)]
pub struct Arguments {
    /// How many processes are killed.
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(1..))]
    kills: u64,
    /// Who is killed; `both` takes turns.
    #[arg(long, value_enum, default_value_t = Victim::Both)]
    victim: Victim,
    /// Print the report as JSON.
    #[arg(long)]
    json: bool,
}

/// Kills, and reports.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    // Interrupted, it reports what it has seen so far, and takes its channel along.
    catch_stop_signals()?;
    let name = format!("bench-kill-{}", process_id());
    let killed = kill(arguments, name.clone());
    // Who was killed last could not take the channel along.
    let _ = taut_ipc::prune(&name, &ChannelOptions::default());
    killed
}

fn kill(arguments: &Arguments, name: String) -> Result<(), Failure> {
    let failed = |error: taut_ipc::IpcError| Failure::Run(error.to_string());
    let options = ChannelOptions::default();
    let channel = Channel::open_or_create(&name, &STREAMS, &options).map_err(failed)?;
    let notes = Segment::create("taut-kill", &[NOTES]).map_err(failed)?;
    let seed = utc().0.unsigned_abs();
    let mut judge = Judge::new(&channel, &name, notes.region(NOTES).map_err(failed)?, seed)?;
    // The judge and the victim each on a CPU of their own, where there are two.
    let _ = pin_to_cpu(JUDGE_CPU);
    let (watch, mut progress) = (Watch::start(), Progress::start());
    for number in (0..arguments.kills).take_while(|_| stop_requests() == 0) {
        let writer = match arguments.victim {
            Victim::Writer => true,
            Victim::Reader => false,
            Victim::Both => number % 2 == 0,
        };
        let ring = Ring::of(number);
        if writer {
            judge.kill_writer(ring)?
        } else {
            judge.kill_reader(ring)?
        }
        if number % 64 == 0 {
            progress.tell(&format!("{number} of {} kills", arguments.kills));
        }
    }
    report(arguments, judge, seed, &watch.finish())
}

fn report(
    arguments: &Arguments,
    judge: Judge<'_>,
    seed: u64,
    conditions: &Conditions,
) -> Result<(), Failure> {
    let Judge { outcome, mut heal, .. } = judge;
    let Outcome { kills, killed_mid_write, killed_mid_read, messages, torn, lost, wedged } =
        outcome;
    let heal = json!(heal.spread());
    if arguments.json {
        print(json!({
            "kills": kills, "killed_mid_write": killed_mid_write,
            "killed_mid_read": killed_mid_read, "messages": messages, "torn": torn, "lost": lost,
            "wedged": wedged, "heal_ns": heal, "seed": seed, "conditions": conditions,
        }))?;
    } else {
        print(format_args!(
            "{kills} kills, {killed_mid_write} in the middle of a write, {killed_mid_read} of a \
             read; {messages} messages: torn {torn}, lost {lost}, wedged {wedged}; heal ns {heal}\n\
             conditions: {conditions}"
        ))?;
    }
    if torn + lost + wedged == 0 {
        return Ok(());
    }
    Err(Failure::Run(format!("ipc-kill: not safe under kill; seed {seed}")))
}
