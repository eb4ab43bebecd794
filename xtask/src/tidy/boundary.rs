//! The boundary: who may name the system, the atomics and the clocks.

use super::finding::Finding;
use super::house::House;
use super::law::Law;
use super::path::{Path, paths};

/// The law.
pub const LAW: Law = Law {
    name: "boundary",
    reason: "taut-sys alone calls the system and reads clocks; loom sees every atomic of taut-sync",
    check,
};

const SYSTEM_CRATE: &str = "taut-sys";
/// Its deadlines end a test; nothing is measured by them.
const TEST_CRATE: &str = "taut-testkit";
const ATOMIC_CRATE: &str = "taut-sync";
const SYSTEM_NAMES: &[&str] = &["libc", "rustix"];
const COUNTER_NAMES: &[&str] = &["_rdtsc", "__rdtscp"];
const CLOCKS: &[&str] = &["Instant", "SystemTime"];

fn check(house: &House<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for package in &house.packages {
        let beyond_system = package.name != SYSTEM_CRATE;
        for dependency in package.manifest.dependencies() {
            if beyond_system && SYSTEM_NAMES.contains(&&*dependency.name) {
                let what = format!("depends on `{}`", dependency.name);
                let remedy = "only taut-sys does: add what you need there";
                findings.push(Finding::new(package.path(), dependency.line, what, remedy));
            }
        }
        for (path, source) in house.sources_of(package) {
            let paths = paths(source.stream.clone());
            if beyond_system {
                let words = source.tokens.iter().map(|token| (&*token.text, token.line));
                findings.extend(words.filter_map(|(word, line)| names_system(path, word, line)));
            }
            if beyond_system && package.name != TEST_CRATE {
                findings.extend(reads_clock(path, &paths));
            }
            if package.name != ATOMIC_CRATE {
                findings.extend(names_atomics(path, &paths));
            }
        }
    }
    findings
}

fn names_system(path: &str, word: &str, line: usize) -> Option<Finding> {
    let remedy = if SYSTEM_NAMES.contains(&word) {
        "only taut-sys does: call it through there"
    } else if COUNTER_NAMES.contains(&word) {
        "only taut-sys reads a clock: time is an argument"
    } else {
        return None;
    };
    Some(Finding::new(path, line, format!("names `{word}`"), remedy))
}

fn reads_clock(path: &str, paths: &[Path]) -> Vec<Finding> {
    let reads = |p: &Path| {
        let [.., kind, "now"] = p.names()[..] else { return None };
        let clock = alias(paths, kind, |imported| {
            imported.last().is_some_and(|last| CLOCKS.contains(last))
        });
        if !CLOCKS.contains(&kind) && !clock {
            return None;
        }
        let what = format!("reads a clock: `{kind}::now`");
        let remedy = "only taut-sys does: take `now: Nanos` as an argument";
        Some(Finding::new(path, p.line, what, remedy))
    };
    paths.iter().filter_map(reads).collect()
}

fn names_atomics(path: &str, paths: &[Path]) -> Vec<Finding> {
    let names = |p: &Path| {
        let atomics = match p.names()[..] {
            // A glob brings the module in as well.
            ["core" | "std", "sync", "atomic" | "*", ..] => true,
            [module, "atomic", ..] => {
                alias(paths, module, |imported| matches!(imported, ["core" | "std", "sync"]))
            }
            _ => false,
        };
        let what = format!("names `{}`", p.segments.join("::"));
        let remedy = "take atomics from `taut_sync::atomic`, so that loom can replace them";
        atomics.then(|| Finding::new(path, p.line, what, remedy))
    };
    paths.iter().filter_map(names).collect()
}

/// Whether a `use` in the same file gives `name` to a path that `is_meant` accepts.
fn alias(paths: &[Path], name: &str, is_meant: impl Fn(&[&str]) -> bool) -> bool {
    paths.iter().any(|path| path.import.as_deref() == Some(name) && is_meant(&path.names()))
}

#[cfg(test)]
mod tests {
    use super::LAW;
    use crate::tidy::fixture::{assert_broken, assert_kept, manifest};

    const MAIN: &str = "xtask/src/main.rs";

    #[test]
    fn only_taut_sys_names_the_system() {
        let use_libc = "use std::io;\nuse libc::c_int;\n";
        assert_broken(&LAW, &[(MAIN, use_libc)], "xtask/src/main.rs:2", "`libc`");
        let call = "fn main() { ::rustix::io::close(1); }\n";
        assert_broken(&LAW, &[(MAIN, call)], "xtask/src/main.rs:1", "`rustix`");
        assert_kept(&LAW, &[(MAIN, "// libc\nconst A: &str = \"rustix\";\nlet libc_call = 1;\n")]);
        let text = manifest("xtask", 9, false, false, "libc.workspace = true");
        let place = "xtask/Cargo.toml:16";
        assert_broken(&LAW, &[("xtask/Cargo.toml", &text)], place, "depends on `libc`");
        let system = manifest("taut-sys", 1, false, true, "libc.workspace = true");
        assert_kept(
            &LAW,
            &[
                ("crates/taut-sys/Cargo.toml", &system),
                ("crates/taut-sys/src/lib.rs", "use libc::c_int;\nfn f() { Instant::now(); }\n"),
            ],
        );
    }

    #[test]
    fn only_taut_sync_names_atomics() {
        for text in [
            "use std::sync::atomic::AtomicU64;\n",
            "use std::{fmt, sync::{Arc, atomic::{AtomicU64, Ordering as O}}};\n",
            "use ::core::sync::atomic;\n",
            "use std::sync::*;\n",
            "use std::sync;\nstatic A: sync::atomic::AtomicU64 = b();\n",
            "use std::sync as s;\nuse s::atomic::AtomicU64;\n",
            "static A: std::sync::atomic::AtomicU64 = b();\n",
        ] {
            let violations =
                crate::tidy::fixture::check(&LAW, &crate::tidy::fixture::with(&[(MAIN, text)]));
            assert!(!violations.is_empty(), "{text}");
            assert!(violations[0].starts_with("xtask/src/main.rs:"), "{violations:?}");
            assert!(violations[0].contains(": boundary: names `"), "{violations:?}");
        }
        assert_kept(
            &LAW,
            &[
                (MAIN, "use std::sync::{Arc, Mutex};\nuse taut_sync::atomic::AtomicU64;\n"),
                ("crates/taut-sync/Cargo.toml", &manifest("taut-sync", 0, false, true, "")),
                ("crates/taut-sync/src/lib.rs", "pub use core::sync::atomic::AtomicU64;\n"),
            ],
        );
    }

    #[test]
    fn only_taut_sys_reads_a_clock() {
        for text in [
            "fn main() { let a = std::time::Instant::now(); }\n",
            "fn main() { a(SystemTime::now) }\n",
            "use std::time::Instant as I; fn main() { I::now(); }\n",
            "fn main() { core::arch::x86_64::_rdtsc(); }\n",
        ] {
            assert_broken(&LAW, &[(MAIN, text)], "xtask/src/main.rs:1", "");
        }
        assert_kept(&LAW, &[(MAIN, "fn f(now: Nanos) { Clock::now(); }\n")]);
        let kit = manifest("taut-testkit", 1, false, false, "");
        let deadline = "fn f() { std::time::Instant::now(); }\n";
        let place = "crates/taut-testkit/src/lib.rs";
        assert_kept(&LAW, &[("crates/taut-testkit/Cargo.toml", &kit), (place, deadline)]);
    }
}
