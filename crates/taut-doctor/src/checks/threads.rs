//! The threads that trade, and those that are in their way.

use crate::check::{Check, Group, Severity};
use crate::cpu_list::CpuList;
use crate::finding::{Finding, Fix, Unseen};
use crate::look::{Look, with_others};
use crate::machine::Machine;
use crate::sample::Task;

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
        reads: "/proc/PID/task/TID/stat, /proc/stat, twice; /proc/PID/maps (memory of taut)",
        wanted: "no other thread has more than 2% of these CPUs",
        why: "who shares a CPU waits for a time slice of the other, milliseconds long",
        cost: "the other thread has less CPU",
        look: busy_neighbour,
    },
];

/// What a thread may have of a CPU without being in the way, in percent.
const PERCENT_MAX: u64 = 2;
/// What of a CPU may be had by threads that are not seen: one that moved counts where it is last.
const HIDDEN_PERCENT_MAX: u64 = 10;
/// A hundredth of a second, in which the kernel counts the time of threads and CPUs.
const TICK_NS: u64 = 10_000_000;
/// Threads that are named before the others are counted.
const NAMED_MAX: usize = 5;

fn pinned(machine: &Machine) -> Look {
    let gateway = machine.target.gateway.ok_or_else(no_file)?;
    Ok(match gateway.cpu {
        Some(cpu) => Finding::ok(format!("cpu = {cpu}")),
        None => {
            let cpu = machine.cpus().iter().next().unwrap_or(0);
            let text = format!("put `cpu = {cpu}` into the gateway's file");
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
    let hidden = hidden(machine);
    if busy.is_empty() && hidden.is_empty() {
        return Ok(Finding::ok("nothing else runs there"));
    }
    let mut words: Vec<String> = busy.iter().take(NAMED_MAX).map(Busy::words).collect();
    if busy.len() > words.len() {
        words.push(format!("and {} more", busy.len() - words.len()));
    }
    words.extend(hidden.iter().map(|(cpu, percent)| {
        format!("{percent}% of CPU {cpu} went to threads that have ended or are not visible here")
    }));
    let in_the_way: Vec<&Busy> = busy.iter().filter(|it| !it.is_alone_of_taut(&busy)).collect();
    let is_ok = in_the_way.is_empty() && hidden.is_empty();
    Ok(Finding::judge(is_ok, words.join(", "), || out_of_the_way(machine, &in_the_way)))
}

/// Others go elsewhere. A thread that trades is where somebody pinned it: no script moves it.
fn out_of_the_way(machine: &Machine, in_the_way: &[&Busy]) -> Fix {
    let others: Vec<u32> = in_the_way.iter().filter(|it| !it.is_taut).map(|it| it.thread).collect();
    let move_them = |cpus: &CpuList| {
        let line = |thread: &u32| format!("taskset -pc {cpus} {thread}");
        Fix::Command(others.iter().map(line).collect::<Vec<_>>().join("; "))
    };
    match (in_the_way.is_empty(), others.is_empty()) {
        (true, _) => Fix::Advice("see who that is, with `top -H` on the host".to_owned()),
        (_, true) => Fix::Advice("pin each thread that trades to a CPU of its own".to_owned()),
        _ => with_others(machine, move_them),
    }
}

/// The CPUs that were busy with more than the threads that can be seen had of them, and how much
/// more, in percent.
fn hidden(machine: &Machine) -> Vec<(usize, u64)> {
    let [before, after] = &machine.samples;
    let hundredths = hundredths(machine);
    let percent = |cpu: usize| {
        let now = after.cpus.get(&cpu)?;
        // Interrupts are the time of no thread.
        let busy = now.since(*before.cpus.get(&cpu)?).programs.0.unsigned_abs() / TICK_NS;
        let on_cpu = after.tasks.iter().filter(|(_, task)| task.cpu == cpu);
        let seen = on_cpu.fold(0, |sum: u64, (thread, task)| {
            let earlier = before.tasks.get(thread).map_or(0, |task| task.ticks);
            sum.saturating_add(task.ticks.saturating_sub(earlier))
        });
        let percent = busy.saturating_sub(seen).saturating_mul(100) / hundredths;
        (percent > HIDDEN_PERCENT_MAX).then_some((cpu, percent))
    };
    machine.cpus().iter().filter_map(percent).collect()
}

/// How long was looked, in ticks of a hundredth of a second.
fn hundredths(machine: &Machine) -> u64 {
    (machine.interval.0.unsigned_abs() / TICK_NS).max(1)
}

/// A thread that has more than a little of a CPU that is judged.
struct Busy {
    percent: u64,
    thread: u32,
    name: String,
    cpu: usize,
    is_taut: bool,
}

impl Busy {
    fn words(&self) -> String {
        let Self { percent, thread, name, cpu, .. } = self;
        format!("{name} (thread {thread}) has {percent}% of CPU {cpu}")
    }

    /// One thread of taut's on a CPU is what the CPU is for.
    fn is_alone_of_taut(&self, all: &[Self]) -> bool {
        let on_cpu = all.iter().filter(|it| it.cpu == self.cpu && it.is_taut);
        self.is_taut && on_cpu.count() == 1
    }
}

/// Whether a thread is of a program called taut, or of one that has shared memory of taut's: a
/// strategy in a program of its own.
fn is_taut(machine: &Machine, task: &Task) -> bool {
    let maps = || machine.text(&format!("/proc/{}/maps", task.process));
    task.name.starts_with("taut") || maps().is_ok_and(|text| text.contains("/memfd:taut-"))
}

/// The busy threads of the CPUs that are judged, the busiest first.
fn busy_threads(machine: &Machine) -> Vec<Busy> {
    let [before, after] = &machine.samples;
    let hundredths = hundredths(machine);
    let mut busy = Vec::new();
    for (&thread, task) in &after.tasks {
        let earlier = before.tasks.get(&thread).map_or(0, |task| task.ticks);
        let percent = task.ticks.saturating_sub(earlier).saturating_mul(100) / hundredths;
        let is_other = task.process != machine.answers.process;
        if percent > PERCENT_MAX && is_other && machine.cpus().contains(task.cpu) {
            let (name, is_taut) = (task.name.clone(), is_taut(machine, task));
            busy.push(Busy { percent, thread, name, cpu: task.cpu, is_taut });
        }
    }
    busy.sort_by_key(|it| std::cmp::Reverse(it.percent));
    busy
}
