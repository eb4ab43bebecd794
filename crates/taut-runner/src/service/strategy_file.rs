//! What a strategy that attaches to a gateway by name is told.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::DeserializeOwned;
use taut_sys::{Wait, pinnable_cpus};
use toml::Table;

use crate::error::RunnerError;
use crate::mistakes::{self, FileSettings, Mistake};
use crate::placement::no_such_cpu;
use crate::reading;
use crate::service::attach::Attach;
use crate::service::client::control_path;
use crate::service::name::{NAME_BYTES_MAX, is_name};
use crate::settings::wait;
use crate::start::NoParameters;

/// A strategy's file with every key, for people to start from.
pub const STRATEGY_SAMPLE: &str = include_str!("strategy.toml");

/// What a program says that was not told its file.
const USAGE: &str =
    "usage: --config FILE, a file of settings such as `taut strategy sample` prints";

/// A strategy's settings, with `P` for its own `[parameters]`. All that a file can say
/// ([`STRATEGY_SAMPLE`]):
///
/// ```toml
#[doc = include_str!("strategy.toml")]
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "Keys<P>", bound = "P: DeserializeOwned")]
#[non_exhaustive]
pub struct StrategyFile<P = NoParameters> {
    /// The gateways, each in its place: by name, or by the path of its control socket.
    pub gateways: Vec<String>,
    /// Its name in the gateways' settings.
    pub name: String,
    /// How it waits when there is nothing to do; without it it sleeps.
    pub wait: Option<Wait>,
    /// The CPU that it runs on; without it whichever the system gives it.
    pub cpu: Option<usize>,
    /// Whether it runs only while nobody else wants its CPU.
    pub idle: bool,
    /// Whether it waits for a gateway that is not there, and for one that goes.
    pub waits: bool,
    /// The strategy's own.
    pub parameters: P,
}

/// The file as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, bound = "P: DeserializeOwned")]
struct Keys<P> {
    #[serde(default = "taut")]
    gateways: Vec<String>,
    name: String,
    #[serde(default, with = "wait")]
    wait: Option<Wait>,
    cpu: Option<usize>,
    #[serde(default)]
    idle: bool,
    #[serde(default = "yes")]
    waits: bool,
    parameters: Option<P>,
}

fn taut() -> Vec<String> {
    vec!["taut".to_owned()]
}

const fn yes() -> bool {
    true
}

impl<P: DeserializeOwned> TryFrom<Keys<P>> for StrategyFile<P> {
    type Error = String;

    fn try_from(keys: Keys<P>) -> Result<Self, String> {
        let Keys { gateways, name, wait, cpu, idle, waits, parameters } = keys;
        let parameters = match parameters {
            Some(parameters) => parameters,
            // As if the table were there and empty.
            None => reading::parsed(Table::new()).map_err(|e| format!("[parameters]: {e}"))?,
        };
        Ok(Self { gateways, name, wait, cpu, idle, waits, parameters })
    }
}

impl<P: DeserializeOwned> FileSettings for StrategyFile<P> {
    fn start_paths_at(&mut self, folder: &Path) {
        for gateway in self.gateways.iter_mut().filter(|gateway| gateway.contains('/')) {
            *gateway = folder.join(&gateway).to_string_lossy().into_owned();
        }
    }

    fn mistakes(&self) -> Vec<Mistake> {
        let mut mistakes = Vec::new();
        if self.gateways.is_empty() {
            let text = "gateways: none is named; a strategy attaches to one at least";
            mistakes.push(Mistake::told("gateways", text));
        }
        let mut names = std::collections::BTreeSet::new();
        for gateway in &self.gateways {
            if gateway.is_empty() || !names.insert(control_path(gateway)) {
                let remedy = "names or paths, each once";
                mistakes.push(Mistake::new("gateways", format!("\"{gateway}\""), remedy));
            }
        }
        if !is_name(&self.name) {
            let remedy =
                format!("the strategy's name at its gateways: 1 to {NAME_BYTES_MAX} bytes");
            mistakes.push(Mistake::new("name", &self.name, remedy));
        }
        if let (Some(cpu), Ok(cpus)) = (self.cpu, pinnable_cpus())
            && !cpus.contains(&cpu)
        {
            mistakes.push(no_such_cpu("cpu", cpu, &cpus).into());
        }
        mistakes
    }
}

impl<P: DeserializeOwned> StrategyFile<P> {
    /// The settings of a file; relative paths in it start at its folder.
    ///
    /// # Errors
    /// Everything that is wrong in it: the file, the line, the key, the key that was meant.
    pub fn read(path: &Path) -> Result<Self, RunnerError> {
        mistakes::from_file(path)
    }

    /// The settings of the file that this program's arguments name: `--config FILE`. `--help`
    /// prints the keys of such a file, and ends the program.
    ///
    /// # Errors
    /// As [`StrategyFile::read`]; when the arguments are others.
    pub fn from_args() -> Result<Self, RunnerError> {
        match asked(std::env::args_os().skip(1).map(PathBuf::from))? {
            Asked::Run(path) => Self::read(&path),
            Asked::Help => {
                println!("{USAGE}\n\nIts keys:\n\n{STRATEGY_SAMPLE}");
                std::process::exit(0);
            }
        }
    }

    /// How it attaches.
    #[must_use]
    pub fn attach(&self) -> Attach {
        Attach {
            gateways: self.gateways.clone(),
            strategy: self.name.clone(),
            wait: self.wait.unwrap_or(Wait::Block),
            cpu: self.cpu,
            idle: self.idle,
            waits: self.waits,
        }
    }

    /// What the file says, line by line, but for the strategy's own parameters.
    #[must_use]
    pub fn explain(&self) -> Vec<String> {
        let mut lines = vec![format!("strategy '{}'", self.name)];
        let mut say = |what: &str, text: String| lines.push(format!("  {what:<16} {text}"));
        for gateway in &self.gateways {
            say("gateway", format!("'{gateway}' at {}", control_path(gateway).display()));
        }
        let wait = self.wait.unwrap_or(Wait::Block).name();
        let cpu = self.cpu.map_or_else(|| "any CPU".to_owned(), |cpu| format!("CPU {cpu}"));
        let idle = if self.idle { ", while nobody else wants it" } else { "" };
        say("runs on", format!("{cpu}{idle}; when there is nothing to do: {wait}"));
        let missing = if self.waits { "it is waited for" } else { "the strategy ends" };
        say("without gateway", missing.to_owned());
        lines
    }
}

/// What arguments ask for.
#[derive(Debug, PartialEq, Eq)]
enum Asked {
    Run(PathBuf),
    Help,
}

fn asked(mut arguments: impl Iterator<Item = PathBuf>) -> Result<Asked, RunnerError> {
    let usage = || RunnerError::Settings(USAGE.to_owned());
    let first = arguments.next().ok_or_else(usage)?;
    match (first.to_str(), arguments.next(), arguments.next()) {
        (Some("--help" | "-h"), None, None) => Ok(Asked::Help),
        (Some("--config"), Some(path), None) => Ok(Asked::Run(path)),
        (Some(text), None, None) => match text.strip_prefix("--config=") {
            Some(path) => Ok(Asked::Run(PathBuf::from(path))),
            None => Err(usage()),
        },
        _ => Err(usage()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Debug, PartialEq, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Own {
        edge: u32,
        #[serde(default)]
        size: u32,
    }

    fn read<P: DeserializeOwned>(text: &str) -> Result<StrategyFile<P>, String> {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("strategy.toml");
        std::fs::write(&path, text).expect("a file");
        let read = StrategyFile::read(&path).map_err(|error| error.to_string());
        read.map_err(|text| text.replace(&format!("{}:", path.display()), ""))
    }

    #[test]
    fn what_is_left_out_is_as_in_the_sample() {
        let left_out: StrategyFile<Table> = read("name = \"touch\"\n").expect("right");
        let mut sample: StrategyFile<Table> = read(STRATEGY_SAMPLE).expect("right");
        assert_eq!(sample.parameters.remove("rate"), Some(toml::Value::Integer(100)));
        sample.parameters.clear();
        assert_eq!(StrategyFile { wait: Some(Wait::Block), ..left_out }, sample);
    }

    #[test]
    fn parameters_of_ones_own_are_looked_at_with_the_rest_of_the_file() {
        let text = "name = \"own\"\n[parameters]\nedge = 3\n";
        assert_eq!(read::<Own>(text).expect("right").parameters, Own { edge: 3, size: 0 });
        for (text, words) in [
            ("name = \"own\"\n", "[parameters]: missing field `edge`"),
            (
                "name = \"own\"\n[parameters]\nedeg = 3\n",
                "3: parameters.edeg: unknown field `edeg`",
            ),
            ("nmae = \"own\"\n[parameters]\nedge = 3\n", "did you mean `name`?"),
            ("name = \"own\"\n[parameters]\nedge = -1\n", "3: parameters.edge: "),
            ("name = \"\"\n[parameters]\nedge = 1\n", "1: name = : must be the strategy's name"),
        ] {
            let told = read::<Own>(text).expect_err(text);
            assert!(told.contains(words), "{text}: {told}");
        }
        let told = read::<NoParameters>(text).expect_err("no parameters");
        assert!(told.contains("3: parameters.edge: unknown field `edge`"), "{told}");
    }

    #[test]
    fn gateways_are_named_once_and_paths_start_at_the_file() {
        let file: StrategyFile =
            read("name = \"x\"\ngateways = [\"a\", \"./b\"]\n").expect("right");
        let [name, path] = file.gateways.as_slice() else { panic!("{file:?}") };
        assert!(name == "a" && Path::new(path).is_absolute() && path.ends_with("/b"), "{path}");
        for wrong in ["[]", "[\"a\", \"a\"]", "[\"\"]"] {
            let text = format!("name = \"x\"\ngateways = {wrong}\n");
            let told = read::<NoParameters>(&text).expect_err(wrong);
            assert!(told.contains("2: gateways"), "{told}");
        }
    }

    /// As a shell on a machine that has isolated CPUs, which may be pinned to them all the same.
    #[test]
    fn a_cpu_outside_the_affinity_of_who_reads_the_file_is_one_of_this_machine() {
        let cpus = pinnable_cpus().expect("CPUs");
        let (Some(first), Some(last)) = (cpus.first().copied(), cpus.last()) else { return };
        let text = format!("name = \"x\"\ncpu = {last}\n");
        let reader = std::thread::spawn(move || {
            taut_sys::pin_to_cpu(first).expect("a CPU");
            read::<NoParameters>(&text)
        });
        assert_eq!(reader.join().expect("a reader").expect("right").cpu, Some(*last));
        let told = read::<NoParameters>("name = \"x\"\ncpu = 999\n").expect_err("no such CPU");
        assert!(told.contains("2: cpu = 999"), "{told}");
    }

    #[test]
    fn arguments_name_a_file_or_are_told_what_they_should_be() {
        let asked = |text: &str| asked(text.split_whitespace().map(PathBuf::from)).ok();
        let run = |path: &str| Some(Asked::Run(PathBuf::from(path)));
        assert_eq!(asked("--config s.toml"), run("s.toml"));
        assert_eq!(asked("--config=s.toml"), run("s.toml"));
        assert_eq!(asked("--help"), Some(Asked::Help));
        for wrong in ["", "s.toml", "--config", "--confg s.toml", "--config s.toml more"] {
            assert_eq!(asked(wrong), None, "{wrong}");
        }
    }
}
