//! What an ended demo leaves, and what must hold of it.

use std::process::ExitStatus;

use serde_json::Value;

/// The equations of a run: the left side is the sum of the right one.
const EQUATIONS: [(&str, &[&str]); 5] = [
    ("published", &["ticks", "recovered", "lost"]),
    ("orders", &["acks", "order_rejects"]),
    ("cancel_requests", &["cancels", "cancel_rejects", "cancels_lost"]),
    ("lost", &[]),
    ("unanswered", &[]),
];

/// An ended demo.
pub struct Outcome {
    /// How it ended.
    pub status: ExitStatus,
    /// What it printed.
    pub stdout: String,
    /// What it said.
    pub stderr: String,
    /// What it left in its working directory.
    pub written: Vec<String>,
    /// What it left in its report's directory.
    pub report: Vec<String>,
    /// `run.json`.
    pub run: Option<String>,
}

impl Outcome {
    /// Holds that it ended well: exit code 0, a whole report and nothing else, equations that add
    /// up. Returns the JSON object, which is alone on standard output.
    pub fn expect_sound(&self) -> Value {
        self.expect_code(0);
        assert_eq!(self.written, ["report"], "{}", self.stderr);
        assert_eq!(self.report, ["report.html", "run.json", "stages.hlog"]);
        assert_eq!(self.stdout.lines().count(), 1, "JSON is alone: {}", self.stdout);
        let result = self.json();
        for (whole, parts) in EQUATIONS {
            let sum: u64 = parts.iter().map(|part| count(&result, part)).sum();
            assert_eq!(count(&result, whole), sum, "{whole} = {parts:?} in {result}");
        }
        result
    }

    /// Holds that it ended without a report, with this code and these words in its first line.
    pub fn expect_refused(&self, code: i32, words: &[&str]) {
        self.expect_code(code);
        let line = self.stderr.lines().next().unwrap_or_default();
        for word in words {
            assert!(line.contains(word), "'{word}' is missing in the first line:\n{}", self.stderr);
        }
        self.expect_nothing_written();
        assert_eq!(self.stdout, "");
    }

    /// Holds the exit code, and that nobody panicked.
    pub fn expect_code(&self, code: i32) {
        assert_eq!(self.status.code(), Some(code), "{}\n{}", self.stdout, self.stderr);
        self.expect_no_panic();
    }

    /// Holds that nobody panicked.
    pub fn expect_no_panic(&self) {
        assert!(!self.stderr.contains("panicked"), "{}", self.stderr);
    }

    /// Holds that no report was written, not even a part of one.
    pub fn expect_nothing_written(&self) {
        assert!(self.written.is_empty(), "written: {:?}\n{}", self.written, self.stderr);
    }

    /// Holds that it said this on standard error.
    pub fn expect_said(&self, text: &str) {
        assert!(self.stderr.contains(text), "'{text}' was not said:\n{}", self.stderr);
    }

    /// The last line of standard output.
    pub fn last_line(&self) -> &str {
        self.stdout.lines().last().unwrap_or_default()
    }

    /// The JSON object of the last line.
    pub fn json(&self) -> Value {
        assert_eq!(taut_testkit::odd_json_keys(self.last_line()), [""; 0]);
        serde_json::from_str(self.last_line()).expect("the last line is JSON")
    }

    /// A counter that only `run.json` holds.
    pub fn extra(&self, name: &str) -> u64 {
        let run = self.run.as_deref().expect("run.json");
        let run: Value = serde_json::from_str(run).expect("run.json is JSON");
        run["extras"][name].as_u64().expect("the counter")
    }
}

/// A count of the result.
pub fn count(result: &Value, key: &str) -> u64 {
    result[key].as_u64().unwrap_or_else(|| panic!("{key} is no count in {result}"))
}
