//! `cargo xtask fuzz`: every fuzz target for some seconds.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The targets that `fuzz/Cargo.toml` declares.
///
/// # Errors
/// In words, when the file cannot be read.
fn targets(root: &Path) -> Result<Vec<String>, String> {
    let manifest = root.join("fuzz/Cargo.toml");
    let text = fs::read_to_string(&manifest)
        .map_err(|error| format!("{}: {error}", manifest.display()))?;
    let names = text.split("[[bin]]").skip(1).filter_map(|bin| {
        let line = bin.lines().find_map(|line| line.strip_prefix("name = "))?;
        Some(line.trim_matches('"').to_owned())
    });
    Ok(names.collect())
}

/// Flags by which LLVM counts what an input reaches, as libFuzzer wants it: what cargo-fuzz passes.
/// Safe code needs no sanitizer.
const COVERAGE: &str = "--cfg fuzzing -Cpasses=sancov-module -Ccodegen-units=1 \
    -Cllvm-args=-sanitizer-coverage-level=4 -Cllvm-args=-sanitizer-coverage-trace-compares \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table";
const TRIPLE: &str = "x86_64-unknown-linux-gnu";

/// What a target did.
#[derive(Debug, PartialEq, Eq)]
struct Told {
    executions: u64,
    /// Edges of the program that were reached.
    coverage: u64,
}

/// Reads what libFuzzer says: its status lines, and its statistics at the end.
fn told(text: &str) -> Told {
    let number = |text: &str| text.split_whitespace().next().and_then(|it| it.parse().ok());
    let executions = text
        .lines()
        .rev()
        .find_map(|line| number(line.strip_prefix("stat::number_of_executed_units:")?));
    let coverage = text.lines().rev().find_map(|line| number(line.split_once(" cov: ")?.1));
    Told { executions: executions.unwrap_or(0), coverage: coverage.unwrap_or(0) }
}

/// Builds all targets with libFuzzer. The compiler's flags for it work with any compiler that has
/// the pass; no tool is needed besides a C++ compiler.
fn build(root: &Path, target: &Path) -> Result<PathBuf, String> {
    let folder = target.join("fuzz");
    let status = crate::cargo()
        .args(["build", "--release", "--locked", "--target", TRIPLE, "--target-dir"])
        .arg(&folder)
        .env("RUSTC_BOOTSTRAP", "1")
        .env("RUSTFLAGS", COVERAGE)
        .current_dir(root.join("fuzz"))
        .status()
        .map_err(|error| format!("cargo: {error}"))?;
    let built = folder.join(TRIPLE).join("release");
    if status.success() { Ok(built) } else { Err("the fuzz targets cannot be built".to_owned()) }
}

/// Runs each target for so many seconds and prints what it did. Inputs that reach something new are
/// kept below `target/fuzz-corpus` for the next run; those of `fuzz/seeds` are read, if there are.
///
/// # Errors
/// In words: what cannot be built, or the targets that found something, and where the inputs are.
pub fn run(root: &Path, target: &Path, seconds: u32) -> Result<String, String> {
    let targets = targets(root)?;
    let built = build(root, target)?;
    let found_at = target.join("fuzz-findings");
    let failed = |error: std::io::Error| format!("{}: {error}", found_at.display());
    fs::create_dir_all(&found_at).map_err(failed)?;
    println!("| target | executions | coverage | findings |\n|---|---|---|---|");
    let (mut all, mut found) = (0, Vec::new());
    for name in &targets {
        let corpus = target.join("fuzz-corpus").join(name);
        fs::create_dir_all(&corpus).map_err(failed)?;
        let mut command = Command::new(built.join(name));
        command.arg(&corpus);
        let given = root.join("fuzz/seeds").join(name);
        if given.is_dir() {
            command.arg(given);
        }
        let output = command
            .args(["-print_final_stats=1", "-timeout=25", "-rss_limit_mb=2048"])
            .arg(format!("-max_total_time={seconds}"))
            .arg(format!("-artifact_prefix={}/{name}-", found_at.display()))
            .output()
            .map_err(|error| format!("{name}: {error}"))?;
        let text = String::from_utf8_lossy(&output.stderr);
        let Told { executions, coverage } = told(&text);
        let is_found = !output.status.success();
        println!("| {name} | {executions} | {coverage} | {} |", u8::from(is_found));
        if is_found {
            let tail: Vec<&str> = text.lines().rev().take(20).collect();
            tail.iter().rev().for_each(|line| eprintln!("   {line}"));
            found.push(name.as_str());
        }
        all += executions;
    }
    match found.is_empty() {
        true => Ok(format!("fuzz: {all} executions of {} targets found nothing", targets.len())),
        false => Err(format!("{} found something: {}", found.join(", "), found_at.display())),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    #[test]
    fn what_libfuzzer_says_is_read() {
        let text = "INFO: Seed: 1\n#2\tINITED cov: 12 ft: 13 corp: 1/1b exec/s: 0 rss: 30Mb\n\
            #512\tNEW    cov: 40 ft: 90 corp: 9/30b lim: 4 exec/s: 0\n#900\tDONE   cov: 41 ft: 91\n\
            stat::number_of_executed_units: 900\nstat::average_exec_per_sec:     450\n";
        assert_eq!(super::told(text), super::Told { executions: 900, coverage: 41 });
        assert_eq!(super::told(""), super::Told { executions: 0, coverage: 0 });
    }

    #[test]
    fn every_target_has_its_file_and_every_file_is_a_target() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let mut targets = super::targets(&root).expect("the manifest");
        targets.sort();
        let folder = std::fs::read_dir(root.join("fuzz/fuzz_targets")).expect("the folder");
        let stem =
            |entry: std::fs::DirEntry| entry.path().file_stem().map(std::ffi::OsStr::to_owned);
        let files = folder.filter_map(|entry| stem(entry.expect("an entry")));
        let mut files: Vec<_> = files.filter_map(|stem| stem.into_string().ok()).collect();
        files.sort();
        assert_eq!(targets, files);
    }
}
