//! The threads that trade, and those that are in their way.

use crate::check::{Check, Group, Severity};
use crate::cpu_list::CpuList;
use crate::finding::{Finding, Fix, Unseen};
use crate::look::{Look, with_others};
use crate::machine::Machine;

pub const CHECKS: &[Check] = &[
    Check {
        name: "gateway-pinned",
        group: Group::Isolation,
        severity: Severity::Important,
        reads: "the gateway's file (cpu)",
        wanted: "cpu = N, a CPU of its own",
        why: "a thread that the scheduler moves loses its caches each time",
        cost: "a CPU for the gateway alone",
        look: pinned,
    },
    Check {
        name: "gateway-wait",
        group: Group::Isolation,
        severity: Severity::Minor,
        reads: "the gateway's file (wait)",
        wanted: "wait = \"spin\" on an isolated CPU",
        why: "a thread that sleeps is woken for each packet, which takes 5 to 50 us",
        cost: "a CPU that is always busy, and its power",
        look: wait,
    },
    Check {
        name: "busy-neighbour",
        group: Group::Isolation,
        severity: Severity::Important,
        reads: "/proc/PID/task/TID/stat, twice",
        wanted: "no other thread has more than 2% of these CPUs",
        why: "who shares a CPU waits for a time slice of the other, milliseconds long",
        cost: "the other thread has less CPU",
        look: busy_neighbour,
    },
];

/// What a thread may have of a CPU without being in the way, in percent.
const PERCENT_MAX: u64 = 2;
/// Threads that are named before the others are counted.
const NAMED_MAX: usize = 5;

fn pinned(machine: &Machine) -> Look {
    let gateway = machine.target.gateway.ok_or_else(no_file)?;
    Ok(match gateway.cpu {
        Some(cpu) => Finding::ok(format!("cpu = {cpu}")),
        None => {
            let text = format!("put `cpu = {}` into the gateway's file", machine.cpus());
            Finding::wrong("no cpu is named", Fix::Advice(text))
        }
    })
}

fn wait(machine: &Machine) -> Look {
    let gateway = machine.target.gateway.ok_or_else(no_file)?;
    let fix = || Fix::Advice("put `wait = \"spin\"` into the gateway's file".to_owned());
    Ok(Finding::judge(!gateway.sleeps(), format!("wait = \"{}\"", gateway.wait), fix))
}

fn no_file() -> Unseen {
    Unseen("no gateway's file was given (--for FILE)".to_owned())
}

fn busy_neighbour(machine: &Machine) -> Look {
    let [_, after] = &machine.samples;
    if after.tasks.is_empty() {
        return Err(Unseen("no other process can be seen in /proc".to_owned()));
    }
    let busy = busy_threads(machine);
    if busy.is_empty() {
        return Ok(Finding::ok("nothing else runs there"));
    }
    let mut words: Vec<String> = busy.iter().take(NAMED_MAX).map(Busy::words).collect();
    if busy.len() > words.len() {
        words.push(format!("and {} more", busy.len() - words.len()));
    }
    let in_the_way: Vec<&Busy> = busy.iter().filter(|it| !it.is_alone_of_taut(&busy)).collect();
    let move_them = |others: &CpuList| {
        let line = |it: &&Busy| format!("taskset -pc {others} {}", it.thread);
        Fix::Command(in_the_way.iter().map(line).collect::<Vec<_>>().join("; "))
    };
    let fix = || with_others(machine, move_them);
    Ok(Finding::judge(in_the_way.is_empty(), words.join(", "), fix))
}

/// A thread that has more than a little of a CPU that is judged.
struct Busy {
    percent: u64,
    thread: u32,
    name: String,
    cpu: usize,
}

impl Busy {
    fn words(&self) -> String {
        let Self { percent, thread, name, cpu } = self;
        format!("{name} (thread {thread}) has {percent}% of CPU {cpu}")
    }

    fn is_taut(&self) -> bool {
        self.name.starts_with("taut")
    }

    /// One thread of taut's on a CPU is what the CPU is for.
    fn is_alone_of_taut(&self, all: &[Self]) -> bool {
        let on_cpu = all.iter().filter(|it| it.cpu == self.cpu && it.is_taut());
        self.is_taut() && on_cpu.count() == 1
    }
}

/// The busy threads of the CPUs that are judged, the busiest first.
fn busy_threads(machine: &Machine) -> Vec<Busy> {
    let [before, after] = &machine.samples;
    // A tick is a hundredth of a second.
    let hundredths = (machine.interval.0 / 10_000_000).max(1).unsigned_abs();
    let mut busy = Vec::new();
    for (&thread, task) in &after.tasks {
        let earlier = before.tasks.get(&thread).map_or(task.ticks, |task| task.ticks);
        let percent = task.ticks.saturating_sub(earlier).saturating_mul(100) / hundredths;
        let is_other = task.process != machine.answers.process;
        if percent > PERCENT_MAX && is_other && machine.cpus().contains(task.cpu) {
            busy.push(Busy { percent, thread, name: task.name.clone(), cpu: task.cpu });
        }
    }
    busy.sort_by_key(|it| std::cmp::Reverse(it.percent));
    busy
}
