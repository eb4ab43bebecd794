//! A stranger's client as a process, which is told by lines what to do: `agreement.py` has them.

use std::io::Write;
use std::path::PathBuf;
use std::process::{ChildStdin, Stdio};

use serde_json::Value;
use taut_testkit::Process;

use super::hand::Book;
use crate::{HERE, Venue, node, python_of, with_bytecode};

/// A package of Python.
#[derive(Clone, Copy)]
pub struct Python {
    pub package: &'static str,
    pub module: &'static str,
    pub version: &'static str,
}

/// A client, and its script in `agreement/`.
pub enum Stranger {
    Python(Python, &'static str),
    /// A package of npm, and its version.
    Node(&'static str, &'static str, &'static str),
}

/// A client that is here: what starts it.
pub struct Installed {
    name: &'static str,
    program: PathBuf,
    script: String,
    modules: Option<PathBuf>,
}

impl Stranger {
    /// Nothing, with a notice, where it is not here and cannot be fetched.
    pub fn installed(&self) -> Option<Installed> {
        let script = |name: &str| format!("{HERE}/agreement/{name}");
        Some(match *self {
            Self::Python(Python { package, module, version }, name) => {
                let program = python_of(package, module, version)?;
                Installed { name: package, program, script: script(name), modules: None }
            }
            Self::Node(package, version, name) => {
                let modules = Some(node::modules(package, version)?);
                Installed { name: package, program: "node".into(), script: script(name), modules }
            }
        })
    }
}

/// One that trades.
pub struct Member {
    pub name: &'static str,
    process: Process,
    input: ChildStdin,
}

/// How far it has come.
#[derive(Clone, Copy, Debug, Default)]
pub struct SoFar {
    /// Requests whose outcome it knows.
    pub outcomes: u64,
    /// Changes of its book.
    pub books: u64,
}

impl Member {
    /// As this account, with the seed's habits.
    pub fn start(
        client: &Installed,
        dialect: &str,
        venue: &Venue,
        account: &str,
        seed: u64,
    ) -> Self {
        let mut command = with_bytecode(&client.program);
        command.args([&client.script, dialect, &venue.port.to_string(), account]);
        command.arg(seed.to_string());
        command.envs(client.modules.iter().map(|modules| ("NODE_PATH", modules)));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut process = Process::start_with_streams(&mut command);
        let input = process.take_input().expect("its input");
        Self { name: client.name, process, input }
    }

    pub fn wait_until_ready(&mut self) {
        self.wait_for("ready");
    }

    pub fn wait_until_resting(&mut self) {
        self.wait_for("resting");
    }

    fn wait_for(&mut self, word: &str) {
        self.process.stdout_line(word, |line| (line == word).then_some(()));
    }

    pub fn say(&mut self, words: &str) {
        writeln!(self.input, "{words}").expect("it listens");
    }

    /// How far it has come; it must not have ended.
    pub fn so_far(&mut self) -> SoFar {
        let said = self.process.stdout();
        assert!(self.process.is_running(), "{} has ended: {}", self.name, self.process.stderr());
        let last = said.lines().rev().find_map(|line| {
            let (outcomes, books) = line.strip_prefix("so far ")?.split_once(' ')?;
            Some(SoFar { outcomes: outcomes.parse().ok()?, books: books.parse().ok()? })
        });
        last.unwrap_or_default()
    }

    /// All that it sees, once its book has come as far as the engine's.
    pub fn tell(&mut self, engine: &Book) -> Value {
        self.say(&format!("tell {}", engine.change));
        self.process.stdout_line("what it sees", |line| {
            serde_json::from_str(line.strip_prefix("told ")?).ok()
        })
    }

    /// What its user had to do because it does not.
    pub fn notes(&self) -> Vec<String> {
        let said = self.process.stdout();
        said.lines().filter_map(|line| Some(line.strip_prefix("note ")?.to_owned())).collect()
    }
}
