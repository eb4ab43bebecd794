//! `taut jitter`: the hiccups of each CPU, and their causes.

mod page;
mod report;

use std::path::{Path, PathBuf};

use clap::Args;
use taut_doctor::CpuList;
use taut_doctor::jitter::measure;
use taut_report::files;
use taut_report::run::{directory, histogram_log};
use taut_report::{Progress, Watch};
use taut_sync::atomic::{AtomicU64, Ordering};
use taut_sys::{available_cpus, pinnable_cpus, stop_requests};
use taut_types::Nanos;

use crate::doctor::cpu_list;
use crate::exit::{Failure, catch_stop_signals};
use crate::terminal;
use report::Report;

/// Measure for how long a thread of each CPU does not run, and say why.
///
/// A thread spins on each CPU and looks at the clock. Where the clock jumps by a microsecond or
/// more, the thread did not run: a hiccup, which whatever trades there has in its latency, too. The
/// kernel tells of some that another task ran or a page was missing; for the others there are the
/// interrupts of the CPU and the time that the hypervisor took. Ctrl-C ends it early and prints
/// what was seen.
#[derive(Args, Clone, Debug)]
pub struct Arguments {
    /// How long
    #[arg(long, value_name = "N", default_value_t = 10.0)]
    seconds: f64,
    /// The CPUs, such as 2,4-5, isolated ones too [default: those in the affinity of this process]
    #[arg(long, value_name = "LIST", value_parser = cpu_list)]
    cpus: Option<CpuList>,
    /// Print one line of JSON
    #[arg(long)]
    json: bool,
    /// Write jitter.html, jitter.hlog (HdrHistogram) and jitter.json to this directory
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Replace the files of another run in that directory
    #[arg(long, requires = "out")]
    overwrite: bool,
}

/// What is written.
const FILES: [&str; 3] = ["jitter.html", "jitter.hlog", "jitter.json"];

/// Measures.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let cpus = arguments.check()?;
    catch_stop_signals()?;
    let span = Nanos((arguments.seconds * 1e9) as i64);
    let watch = Watch::start();
    let mut progress = Progress::start();
    // Whoever started this waits no more.
    let abandoned = AtomicU64::new(0);
    let is_over = || stop_requests() > 0 || abandoned.load(Ordering::Relaxed) > 0;
    let tell = |passed: Nanos| {
        let (passed, all) = (passed.0 / 1_000_000_000, arguments.seconds);
        progress.tell(&format!("{passed} of {all} s"));
        abandoned.fetch_add(u64::from(progress.is_abandoned()), Ordering::Relaxed);
    };
    let jitter = measure(&cpus, span, is_over, tell);
    let jitter = jitter.map_err(|error| Failure::run("jitter", error))?;
    let report = Report::new(&jitter, stop_requests() > 0, watch.finish());
    if let Some(out) = &arguments.out {
        write(out, &report)?;
    }
    if arguments.json {
        terminal::print_json(&report)
    } else {
        terminal::print(page::text(&report))
    }
}

impl Arguments {
    /// Refuses what cannot be before anything starts; the CPUs.
    fn check(&self) -> Result<Vec<usize>, Failure> {
        if !(0.1..=86_400.0).contains(&self.seconds) {
            let text = format!("--seconds {}: must be 0.1 to 86400", self.seconds);
            return Err(Failure::Usage(text));
        }
        let cpus = self.chosen_cpus()?;
        if let Some(out) = &self.out {
            directory::check_for(out, &FILES, self.overwrite)?;
        }
        Ok(cpus.iter().collect())
    }

    /// The CPUs that are named and that threads can be pinned to, or those of the affinity.
    fn chosen_cpus(&self) -> Result<CpuList, Failure> {
        let failed = |error| Failure::run("CPUs", error);
        let Some(cpus) = self.cpus.clone() else {
            return Ok(available_cpus().map_err(failed)?.into_iter().collect());
        };
        let all: CpuList = pinnable_cpus().map_err(failed)?.into_iter().collect();
        let others = cpus.without(&all);
        if others.is_empty() {
            return Ok(cpus);
        }
        let text = format!("--cpus {cpus}: this process may not use CPU {others}, but {all}");
        Err(Failure::Usage(text))
    }
}

/// Writes the page, the log and the JSON.
fn write(out: &Path, report: &Report<'_>) -> Result<(), Failure> {
    let failed = |error: &dyn std::fmt::Display| Failure::run(&out.display().to_string(), error);
    let tags: Vec<String> = report.cpus().map(|one| format!("cpu{}", one.cpu)).collect();
    let histograms = tags.iter().map(String::as_str);
    let histograms = histograms.zip(report.cpus().map(|one| one.gaps.histogram()));
    let (started, seconds) = (report.started_utc(), report.seconds());
    let log = histogram_log("Hiccups of each CPU", started, seconds, histograms);
    let json = serde_json::to_string(report).map_err(|error| failed(&error))? + "\n";
    let contents =
        [page::html(report).into_bytes(), log.map_err(|error| failed(&error))?, json.into_bytes()];
    let named: Vec<_> = FILES.into_iter().zip(contents).collect();
    files::write_all(out, &named).map_err(|error| failed(&error))?;
    terminal::tell(format_args!("report: {}", out.join("jitter.html").display()));
    Ok(())
}
