//! Finished runs: the folders that `taut demo --out` and `taut_report` write.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use serde::Serialize;
use serde_json::{Value, json};

use super::http::{Answer, HTML, JSON, PAGE_POLICY, REPORT_POLICY, decoded};

/// The latest are listed.
const RUNS_MAX: usize = 200;
/// A larger file is not a report.
const FILE_BYTES_MAX: u64 = 32 << 20;

/// A folder with runs in it.
#[derive(Debug)]
pub struct Runs {
    folder: PathBuf,
}

/// A run, in a line of the list.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct Line {
    /// The name of its folder.
    name: String,
    /// When it was written, in seconds since 1970.
    written_s: u64,
    has_report: bool,
    mode: Value,
    started_at: Value,
    seconds: Value,
    orders: Value,
    tick_to_trade_ns: Value,
}

impl Runs {
    /// Those in this folder, which may come later.
    pub const fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// What is asked for below `/runs`; nothing where there is none.
    pub fn answer(&self, path: &str) -> Option<Answer> {
        let rest = path.strip_prefix("/runs")?;
        if rest.is_empty() {
            let folder = self.folder.display().to_string();
            let list = json!({ "folder": folder, "runs": self.list() });
            return Some(Answer::new(200, JSON, list.to_string()));
        }
        let (name, file) = rest.strip_prefix('/')?.split_once('/')?;
        let (kind, policy) = match file {
            "run.json" => (JSON, PAGE_POLICY),
            "report.html" => (HTML, REPORT_POLICY),
            _ => return None,
        };
        // Only what is listed is read: a name is compared, and never a path of its own.
        let name = decoded(name)?;
        let line = self.names().into_iter().find(|it| *it == name)?;
        let bytes = read(&self.folder.join(line).join(file))?;
        Some(Answer { policy, ..Answer::new(200, kind, bytes) })
    }

    /// The names of folders with a run, the latest first.
    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let mut found: Vec<_> = entries
            .filter_map(|entry| {
                let name = entry.file_name().into_string().ok()?;
                Some((written(&entry.path().join("run.json"))?, name))
            })
            .collect();
        found.sort_by(|one, other| other.cmp(one));
        found.truncate(RUNS_MAX);
        found.into_iter().map(|(_, name)| name).collect()
    }

    fn list(&self) -> Vec<Line> {
        self.names().into_iter().filter_map(|name| self.line(name)).collect()
    }

    fn line(&self, name: String) -> Option<Line> {
        let folder = self.folder.join(&name);
        let file = folder.join("run.json");
        let mut run: Value = serde_json::from_slice(&read(&file)?).ok()?;
        let mut take = |key: &str| run.get_mut(key).map_or(Value::Null, Value::take);
        Some(Line {
            written_s: written(&file)?,
            has_report: folder.join("report.html").is_file(),
            mode: take("mode"),
            started_at: take("started_at"),
            seconds: take("seconds"),
            orders: take("orders"),
            tick_to_trade_ns: take("tick_to_trade_ns"),
            name,
        })
    }
}

/// When a plain file was written, in seconds since 1970.
fn written(file: &Path) -> Option<u64> {
    let found = fs::metadata(file).ok().filter(fs::Metadata::is_file)?;
    let since = found.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    Some(since.as_secs())
}

fn read(file: &Path) -> Option<Vec<u8>> {
    let found = fs::metadata(file).ok()?;
    let is_good = found.is_file() && found.len() <= FILE_BYTES_MAX;
    is_good.then(|| fs::read(file).ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs() -> (tempfile::TempDir, Runs) {
        let folder = tempfile::tempdir().expect("a folder");
        for (name, text) in [
            ("fused run", "{\"mode\":\"fused\",\"seconds\":2.0,\"orders\":7}"),
            ("split", "{\"mode\":\"split\",\"tick_to_trade_ns\":{\"p50\":900}}"),
            ("broken", "{"),
        ] {
            let run = folder.path().join(name);
            fs::create_dir(&run).expect("a folder");
            fs::write(run.join("run.json"), text).expect("a file");
        }
        fs::write(folder.path().join("split/report.html"), "<p>report").expect("a file");
        fs::write(folder.path().join("secret.txt"), "secret").expect("a file");
        let runs = Runs::new(folder.path().to_owned());
        (folder, runs)
    }

    #[test]
    fn runs_are_listed_and_what_is_no_run_is_not() {
        let (_folder, runs) = runs();
        let answer = runs.answer("/runs").expect("a list");
        let list: Value = serde_json::from_slice(&answer.body).expect("JSON");
        let lines = list["runs"].as_array().expect("runs");
        let mut names: Vec<_> = lines.iter().map(|it| it["name"].as_str().expect("it")).collect();
        names.sort_unstable();
        assert_eq!(names, ["fused run", "split"]);
        let split = lines.iter().find(|it| it["name"] == "split").expect("it");
        let told = (&split["has_report"], &split["tick_to_trade_ns"]["p50"]);
        assert_eq!(told, (&json!(true), &json!(900)));
        let none = Runs::new("/nowhere".into()).answer("/runs").expect("a list");
        assert!(String::from_utf8_lossy(&none.body).contains("\"runs\":[]"));
    }

    #[test]
    fn a_run_is_read_by_its_name_and_nothing_else_is() {
        let (_folder, runs) = runs();
        let body = |path: &str| runs.answer(path).map(|it| (it.policy, it.body));
        assert_eq!(body("/runs/split/report.html"), Some((REPORT_POLICY, b"<p>report".to_vec())));
        assert!(body("/runs/fused%20run/run.json").is_some_and(|it| it.0 == PAGE_POLICY));
        for path in [
            "/runs/..%2Frun/run.json",
            "/runs/%2e%2e/secret.txt",
            "/runs/../secret.txt",
            "/runs/split/secret.txt",
            "/runs/split/../secret.txt",
            "/runs/fused%20run/report.html",
            "/runs/%/run.json",
            "/runs/%zz/run.json",
            "/runs/nothing/run.json",
            "/runs/",
            "/runsplit",
            "/other",
        ] {
            assert_eq!(body(path), None, "{path}");
        }
    }
}
