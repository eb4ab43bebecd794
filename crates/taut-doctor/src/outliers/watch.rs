//! Who looks at the threads: files of `/proc` that stay open.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use taut_sys::cpu_totals;
use taut_types::Nanos;

use super::look::{Look, MachineLook, MachineTotals, THREADS_MAX, Throttled, interrupts};
use crate::sample::group_folders;

/// The longest text that is read of a thread or of a group.
const TEXT_BYTES: usize = 4_096;

/// A thread that is looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WatchedThread {
    /// What people know it by: `gateway`, `strategy`.
    pub name: String,
    /// Its process.
    pub process: u32,
    /// Its number; the process's for its first thread.
    pub thread: u32,
}

/// Looks at threads and at their CPUs.
///
/// Cost: of a look at the threads, some 10 microseconds for each and 25 more for one that had
/// another turn on its CPU; of a look at the machine, some 200, because the kernel writes down
/// every line of interrupts.
#[derive(Debug)]
pub struct ThreadWatch {
    threads: Vec<Files>,
    groups: Vec<File>,
    stat: PathBuf,
    interrupts: PathBuf,
    last: Look,
}

#[derive(Debug)]
struct Files {
    schedstat: Option<File>,
    stat: Option<File>,
    status: Option<File>,
}

impl ThreadWatch {
    /// Opens what is to be read of these threads, the first [`THREADS_MAX`] of them, and of the
    /// control groups of the first, in the `/proc` and `/sys` under `root`. What is not there is
    /// left out.
    #[must_use]
    pub fn open(root: &Path, threads: &[WatchedThread]) -> Self {
        let files = |it: &WatchedThread| {
            let folder = root.join(format!("proc/{}/task/{}", it.process, it.thread));
            let open = |name: &str| File::open(folder.join(name)).ok();
            Files { schedstat: open("schedstat"), stat: open("stat"), status: open("status") }
        };
        let groups = threads.first().map(|it| group_folders(root, it.process)).unwrap_or_default();
        let groups = groups.iter().filter_map(|folder| {
            File::open(root.join(folder.trim_start_matches('/')).join("cpu.stat")).ok()
        });
        Self {
            threads: threads.iter().take(THREADS_MAX).map(files).collect(),
            groups: groups.collect(),
            stat: root.join("proc/stat"),
            interrupts: root.join("proc/interrupts"),
            last: Look::default(),
        }
    }

    /// Looks at the threads: `now` is just before. A thread that has ended stays as it was.
    pub fn look(&mut self, now: Nanos) -> Look {
        self.last.at = now;
        for (totals, files) in self.last.threads.iter_mut().zip(&self.threads) {
            let turns = totals.turns;
            read(files.schedstat.as_ref(), |text| totals.take_schedstat(text));
            read(files.stat.as_ref(), |text| totals.take_stat(text));
            if totals.turns != turns {
                read(files.status.as_ref(), |text| totals.take_status(text));
            }
        }
        let mut throttled = Throttled::default();
        for group in &self.groups {
            read(Some(group), |text| throttled.add_cpu_stat(text));
        }
        self.last.throttled = throttled;
        self.last
    }

    /// Looks at the CPUs that the threads ran on last.
    #[must_use]
    pub fn look_at_machine(&self, now: Nanos) -> MachineLook {
        let text = |path: &Path| std::fs::read_to_string(path).unwrap_or_default();
        let used = self.last.threads.iter().take(self.threads.len());
        let cpus: Vec<usize> = used.map(|thread| thread.cpu).collect();
        let counts = interrupts(&text(&self.interrupts), &cpus);
        let mut look = MachineLook { at: now, cpus: [MachineTotals::default(); THREADS_MAX] };
        for (totals, count) in look.cpus.iter_mut().zip(counts) {
            totals.interrupts = count;
        }
        for (cpu, seen) in cpu_totals(&text(&self.stat)) {
            for (totals, of) in look.cpus.iter_mut().zip(&cpus) {
                if cpu == Some(*of) {
                    totals.stolen = seen.stolen;
                }
            }
        }
        look
    }
}

/// Reads a file of `/proc` from its beginning, which the kernel writes anew for each look.
fn read(file: Option<&File>, take: impl FnOnce(&str)) {
    let mut bytes = [0; TEXT_BYTES];
    let Some(count) = file.and_then(|file| file.read_at(&mut bytes, 0).ok()) else { return };
    if let Some(text) = bytes.get(..count).and_then(|bytes| str::from_utf8(bytes).ok()) {
        take(text);
    }
}

#[cfg(test)]
mod tests {
    use taut_sys::{monotonic, process_id};

    use super::super::look::ThreadTotals;
    use super::*;

    #[test]
    fn this_thread_is_seen_and_one_that_is_not_there_stays_empty() {
        let of = |thread| WatchedThread { name: "it".to_owned(), process: process_id(), thread };
        let mut watch = ThreadWatch::open(Path::new("/"), &[of(process_id()), of(u32::MAX)]);
        let first = watch.look(monotonic());
        let [own, missing, ..] = first.threads;
        assert!(own.ran > Nanos::ZERO && own.turns > 0 && own.minor_faults > 0, "{own:?}");
        assert_eq!(missing, ThreadTotals::default());
        let later = watch.look(monotonic());
        assert!(later.at > first.at && later.threads[0].ran >= own.ran);
        let machine = watch.look_at_machine(monotonic());
        assert!(machine.cpus[0].interrupts > 0, "{machine:?}");
        assert_eq!(machine.cpus[3], MachineTotals::default());
        let nowhere = ThreadWatch::open(Path::new("/nowhere"), &[of(process_id())]).look(Nanos(7));
        assert_eq!(nowhere, Look { at: Nanos(7), ..Look::default() });
    }
}
