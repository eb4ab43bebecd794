//! `cargo xtask fuzz`: every fuzz target for some seconds.
//!
//! `fuzz/seeds/TARGET.hex` are inputs to begin with, one a line: a few of those that reach most.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

/// Of a target's seeds in the repository, in bytes of text.
const SEED_BYTES_MAX: usize = 16 << 10;
/// Of one of them.
const SEED_LENGTH_MAX: usize = 512;

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

/// What is asked for on the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fuzz {
    /// For how long each target runs.
    seconds: u32,
    /// The best inputs go into `fuzz/seeds`.
    keeps: bool,
    /// Targets with this in their name run.
    part: String,
}

impl Fuzz {
    /// # Errors
    /// In words: a word that is not known.
    pub fn parse(words: &[&str]) -> Result<Self, String> {
        let mut asked = Self { seconds: 10, keeps: false, part: String::new() };
        let mut words = words.iter();
        while let Some(&word) = words.next() {
            match word {
                "--keep" => asked.keeps = true,
                "--seconds" => {
                    let seconds = words.next().and_then(|text| text.parse().ok());
                    let seconds = seconds.filter(|&seconds| seconds > 0);
                    asked.seconds = seconds.ok_or("`--seconds` is a number above zero")?;
                }
                part if !part.starts_with('-') && asked.part.is_empty() => {
                    part.clone_into(&mut asked.part);
                }
                word => return Err(format!("`fuzz` does not take `{word}`")),
            }
        }
        Ok(asked)
    }

    /// Runs each target for so many seconds, as many side by side as there are CPUs, and prints
    /// what it did. Inputs that reach something new are kept below `target/fuzz-corpus` for the
    /// next run.
    ///
    /// # Errors
    /// In words: what cannot be built, or the targets that found something, and where the inputs
    /// are.
    pub fn run(&self, root: &Path, target: &Path) -> Result<String, String> {
        let mut targets = targets(root)?;
        targets.retain(|name| name.contains(&self.part));
        if targets.is_empty() {
            return Err(format!("no target of fuzz/Cargo.toml has `{}` in its name", self.part));
        }
        let built = build(root, target)?;
        println!("| target | executions | coverage | findings |\n|---|---|---|---|");
        let (left, done) = (Mutex::new(targets.iter()), Mutex::new((0, Vec::new())));
        let work = || -> Result<(), String> {
            loop {
                let next = left.lock().map_err(|_| "another target's thread ended")?.next();
                let Some(name) = next else { return Ok(()) };
                let (Told { executions, coverage }, found) =
                    self.one(root, target, &built, name)?;
                println!("| {name} | {executions} | {coverage} | {} |", u8::from(found.is_some()));
                let mut done = done.lock().map_err(|_| "another target's thread ended")?;
                done.0 += executions;
                if let Some(text) = found {
                    eprint!("{text}");
                    done.1.push(name.as_str());
                }
            }
        };
        let cpus = std::thread::available_parallelism().map_or(1, usize::from);
        std::thread::scope(|scope| {
            let running: Vec<_> = (0..cpus).map(|_| scope.spawn(work)).collect();
            running.into_iter().try_for_each(|thread| match thread.join() {
                Ok(done) => done,
                Err(_) => Err("a target's thread ended".to_owned()),
            })
        })?;
        let (all, found) = done.into_inner().map_err(|_| "a target's thread ended")?;
        match found.is_empty() {
            true => {
                Ok(format!("fuzz: {all} executions of {} targets found nothing", targets.len()))
            }
            false => Err(format!(
                "{} found something: {}",
                found.join(", "),
                target.join("fuzz-findings").display()
            )),
        }
    }

    /// Runs a target: what it did, and the end of what it said when it found something.
    fn one(
        &self,
        root: &Path,
        target: &Path,
        built: &Path,
        name: &str,
    ) -> Result<(Told, Option<String>), String> {
        let failed = |error: std::io::Error| format!("{name}: {error}");
        let (found_at, corpus) =
            (target.join("fuzz-findings"), target.join("fuzz-corpus").join(name));
        let (kept, seeds) = (root.join("fuzz/seeds"), target.join("fuzz-seeds").join(name));
        for folder in [&found_at, &corpus] {
            fs::create_dir_all(folder).map_err(failed)?;
        }
        let kept = kept.join(name).with_extension("hex");
        unpack(&fs::read_to_string(&kept).unwrap_or_default(), &seeds).map_err(failed)?;
        let output = Command::new(built.join(name))
            .args([&corpus, &seeds])
            .args(["-print_final_stats=1", "-timeout=120", "-rss_limit_mb=2048"])
            .arg(format!("-max_total_time={}", self.seconds))
            .arg(format!("-artifact_prefix={}/{name}-", found_at.display()))
            .output()
            .map_err(failed)?;
        let text = String::from_utf8_lossy(&output.stderr);
        if self.keeps && output.status.success() {
            let best = target.join("fuzz-merged").join(name);
            let _ = fs::remove_dir_all(&best);
            fs::create_dir_all(&best).map_err(failed)?;
            let merged = Command::new(built.join(name))
                .arg("-merge=1")
                .arg(format!("-max_len={SEED_LENGTH_MAX}"))
                .args([&best, &corpus, &seeds])
                .output()
                .map_err(failed)?;
            if !merged.status.success() {
                return Err(format!("{name}: its inputs cannot be merged"));
            }
            fs::create_dir_all(root.join("fuzz/seeds")).map_err(failed)?;
            fs::write(&kept, pack(&best).map_err(failed)?).map_err(failed)?;
        }
        let tail = || -> String {
            let lines: Vec<&str> = text.lines().rev().take(20).collect();
            lines.iter().rev().map(|line| format!("   {line}\n")).collect()
        };
        Ok((told(&text), (!output.status.success()).then(tail)))
    }
}

/// Writes each line's bytes into a file of its own.
fn unpack(text: &str, folder: &Path) -> std::io::Result<()> {
    let _ = fs::remove_dir_all(folder);
    fs::create_dir_all(folder)?;
    for (at, line) in text.lines().enumerate() {
        let digit = |digit: u8| char::from(digit).to_digit(16).unwrap_or(0) as u8;
        let bytes: Vec<u8> = line
            .as_bytes()
            .chunks(2)
            .map(|pair| pair.iter().fold(0, |byte, &it| byte << 4 | digit(it)))
            .collect();
        fs::write(folder.join(at.to_string()), bytes)?;
    }
    Ok(())
}

/// The inputs of a folder, shortest first, as far as there is room for them.
fn pack(folder: &Path) -> std::io::Result<String> {
    let mut inputs = Vec::new();
    for entry in fs::read_dir(folder)? {
        inputs.push(fs::read(entry?.path())?);
    }
    inputs.retain(|input| !input.is_empty());
    inputs.sort_by(|one, other| (one.len(), one).cmp(&(other.len(), other)));
    let mut text = String::new();
    for input in inputs {
        if text.len() + 2 * input.len() + 1 > SEED_BYTES_MAX {
            break;
        }
        for byte in &input {
            let _ = write!(text, "{byte:02x}");
        }
        text.push('\n');
    }
    Ok(text)
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
    fn inputs_are_packed_shortest_first_and_come_out_as_they_were() {
        let folder = std::env::temp_dir().join(format!("taut-seeds-{}", std::process::id()));
        let text = "00\nff7a\n010203\n";
        super::unpack(text, &folder).expect("room");
        let packed = super::pack(&folder);
        std::fs::remove_dir_all(&folder).expect("the folder");
        assert_eq!(packed.expect("the inputs"), text);
    }

    #[test]
    fn words_are_read() {
        let parse = super::Fuzz::parse;
        let asked = parse(&["--seconds", "60", "--keep", "sbe"]).expect("words");
        assert_eq!(asked, super::Fuzz { seconds: 60, keeps: true, part: "sbe".to_owned() });
        for wrong in [&["--seconds", "0"][..], &["--seconds"], &["--keeps"], &["a", "b"]] {
            assert!(parse(wrong).is_err(), "{wrong:?}");
        }
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

    #[test]
    fn every_target_has_its_seeds_and_all_seeds_are_of_a_target() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let mut targets = super::targets(&root).expect("the manifest");
        targets.sort();
        let folder = std::fs::read_dir(root.join("fuzz/seeds")).expect("the folder");
        let name = |entry: std::fs::DirEntry| entry.file_name().into_string().expect("text");
        let mut seeds: Vec<_> = folder.map(|entry| name(entry.expect("an entry"))).collect();
        seeds.sort();
        let expected: Vec<_> = targets.iter().map(|target| format!("{target}.hex")).collect();
        assert_eq!(seeds, expected);
    }
}
