//! The results of a sweep: a line of JSON for each, in a file that they are appended to.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use taut_report::files::WholeFile;

use crate::exit::Failure;

/// The files of a sweep.
const LINES: &str = "sweep.jsonl";
const PAGE: &str = "sweep.html";

/// The first line of the file. The order of the fields is the order of the keys.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// Equal where settings, values, recordings and program are.
    pub identity: String,
    pub strategy: String,
    /// What is gone through.
    pub keys: Vec<String>,
    /// How many combinations there are.
    pub points: usize,
}

/// What a combination came to.
#[derive(Clone, Debug)]
pub struct OneResult {
    pub number: usize,
    /// The line as it stands in the file.
    pub line: String,
    json: Value,
}

impl OneResult {
    /// None of a line that is no whole result.
    fn of(line: &str) -> Option<Self> {
        let json: Value = serde_json::from_str(line).ok()?;
        let number = usize::try_from(json.get("point")?.as_u64()?).ok()?;
        json.get("report").filter(|it| it.is_object())?;
        json.get("values").filter(|it| it.is_array())?;
        Some(Self { number, line: line.to_owned(), json })
    }

    /// A figure of it.
    pub fn figure(&self, by: &str) -> Option<f64> {
        self.json["report"].pointer(&pointer(by))?.as_f64()
    }

    /// The value of a key by its place.
    pub fn value(&self, at: usize) -> String {
        match &self.json["values"][at] {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        }
    }
}

/// Where a figure stands: `orders.fill_rate`.
pub fn pointer(by: &str) -> String {
    format!("/{}", by.replace('.', "/"))
}

/// All results that are there.
#[derive(Debug)]
pub struct Results {
    head: Head,
    all: BTreeMap<usize, OneResult>,
    /// The directory, and the file, which nobody else writes.
    out: Option<(PathBuf, File)>,
}

impl Results {
    /// Begins a file in a directory, or goes on with the one that is there.
    pub fn open(out: Option<&Path>, head: Head, may_overwrite: bool) -> Result<Self, Failure> {
        let Some(out) = out else { return Ok(Self { head, all: BTreeMap::new(), out: None }) };
        let path = out.join(LINES);
        let name = path.display();
        let failed = |error: io::Error| Failure::run(&name.to_string(), error);
        fs::create_dir_all(out).map_err(failed)?;
        let mut options = File::options();
        options.read(true).write(true).create(true).truncate(false);
        let mut file = options.open(&path).map_err(failed)?;
        if file.try_lock().is_err() {
            return Err(Failure::Usage(format!(
                "{name}: another sweep writes it; wait for its end, or name another directory"
            )));
        }
        if may_overwrite {
            file.set_len(0).map_err(failed)?;
        }
        let mut text = String::new();
        file.read_to_string(&mut text).map_err(failed)?;
        // What stands behind the last end of a line was being written when the program was killed.
        let whole = text.rfind('\n').map_or(0, |at| at + 1);
        let mut lines = text.get(..whole).unwrap_or_default().lines();
        let mut all = BTreeMap::new();
        if let Some(first) = lines.next() {
            let found = serde_json::from_str::<Head>(first).ok();
            if found.as_ref() != Some(&head) {
                return Err(Failure::Usage(format!(
                    "{name}: it has the results of another sweep: other settings, values, \
                     recordings or another version; name another directory, or give --overwrite"
                )));
            }
            for (at, line) in lines.enumerate() {
                let found = OneResult::of(line).filter(|it| it.number < head.points);
                let found = found.ok_or_else(|| {
                    let line = at + 2;
                    let what = "it is no result; take the line out, or give --overwrite";
                    Failure::Usage(format!("{name}:{line}: {what}"))
                })?;
                all.insert(found.number, found);
            }
        }
        file.set_len(whole as u64).map_err(failed)?;
        file.seek(SeekFrom::End(0)).map_err(failed)?;
        if whole == 0 {
            let first = serde_json::to_string(&head).map_err(|error| failed(error.into()))? + "\n";
            file.write_all(first.as_bytes()).map_err(failed)?;
        }
        Ok(Self { head, all, out: Some((out.to_owned(), file)) })
    }

    /// Takes a result, in the file first.
    pub fn add(&mut self, number: usize, line: String) -> io::Result<()> {
        let Some(result) = OneResult::of(&line) else {
            return Err(io::Error::other(format!("the result of run {number} is none")));
        };
        if let Some((_, file)) = &mut self.out {
            // In one call: a kill leaves a whole line, or one without its end.
            file.write_all((line + "\n").as_bytes())?;
        }
        self.all.insert(number, result);
        Ok(())
    }

    pub fn has(&self, number: usize) -> bool {
        self.all.contains_key(&number)
    }

    pub fn done(&self) -> usize {
        self.all.len()
    }

    pub fn is_whole(&self) -> bool {
        self.all.len() == self.head.points
    }

    pub const fn head(&self) -> &Head {
        &self.head
    }

    /// Those that are there, in the order of their numbers.
    pub fn all(&self) -> impl Iterator<Item = &OneResult> {
        self.all.values()
    }

    /// The best first; of equal ones, and of those without the figure, the first.
    pub fn best(&self, by: &str, lowest: bool) -> Vec<&OneResult> {
        let mut best: Vec<_> = self.all.values().map(|it| (it.figure(by), it)).collect();
        best.sort_by(|(one, _), (other, _)| match (one, other) {
            (Some(one), Some(other)) if lowest => one.total_cmp(other),
            (Some(one), Some(other)) => other.total_cmp(one),
            (one, other) => other.is_some().cmp(&one.is_some()),
        });
        best.into_iter().map(|(_, it)| it).collect()
    }

    /// Where the page is.
    pub fn page(&self) -> Option<PathBuf> {
        self.out.as_ref().map(|(out, _)| out.join(PAGE))
    }

    /// Puts the lines in the order of their numbers, and writes the page.
    pub fn finish(&self, page: &str) -> Result<(), Failure> {
        let Some((out, _)) = &self.out else { return Ok(()) };
        let head = serde_json::to_string(&self.head).unwrap_or_default();
        let lines = std::iter::once(head.as_str()).chain(self.all().map(|it| it.line.as_str()));
        let text: String = lines.flat_map(|line| [line, "\n"]).collect();
        for (name, text) in [(LINES, text.as_str()), (PAGE, page)] {
            let path = out.join(name);
            let written = WholeFile::create(&path).and_then(|mut file| {
                file.write_all(text.as_bytes())?;
                file.finish()
            });
            written.map_err(|error| Failure::run(&path.display().to_string(), error))?;
        }
        Ok(())
    }

    /// What somebody should know who ended it.
    pub fn interrupted(&self) -> Failure {
        let (done, all) = (self.done(), self.head.points);
        Failure::Run(match &self.out {
            Some((out, _)) => format!(
                "interrupted: {done} of {all} results are in {}; the same command goes on",
                out.join(LINES).display()
            ),
            None => {
                format!("interrupted after {done} of {all} runs; with --out DIR they would be kept")
            }
        })
    }
}
