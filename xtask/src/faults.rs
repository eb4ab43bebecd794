//! `cargo xtask faults`: what bites in production against our adapters, as a table.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

/// The faults and their tests.
const FAULTS: &str = include_str!("../production-faults.txt");

/// Whom it may bite, in the order of the file's columns.
const ADAPTERS: [&str; 3] = ["Deribit", "Binance", "OKX"];

/// Where the tests are: what cargo is told.
const TARGETS: [&[&str]; 3] = [
    &[
        "-p",
        "taut-fix-engine",
        "-p",
        "taut-gateway",
        "-p",
        "taut-market-data",
        "-p",
        "taut-oms",
        "-p",
        "taut-order-entry",
        "-p",
        "taut-web-venue",
        "-p",
        "taut-ws",
        "--lib",
        "--tests",
    ],
    &["-p", "taut-tests", "--test", "web_venues"],
    &["-p", "taut-examples", "--test", "two_venues"],
];

/// A cell of the table.
#[derive(Debug, PartialEq, Eq)]
enum Cell<'a> {
    /// These tests show it.
    Tests(Vec<&'a str>),
    /// It does not apply, and why.
    Never(&'a str),
    /// Nothing shows it yet, and why.
    Open(&'a str),
}

/// Runs the tests and prints fault, adapter and verdict.
///
/// # Errors
/// In words: a test failed, or is not there.
pub fn run(root: &Path) -> Result<String, String> {
    let rows = rows(FAULTS)?;
    let mut names: Vec<&str> = Vec::new();
    for cell in rows.iter().flat_map(|(_, cells)| cells) {
        if let Cell::Tests(tests) = cell {
            names.extend(tests.iter().map(|test| last(test)));
        }
    }
    names.sort_unstable();
    names.dedup();
    let mut verdicts = BTreeMap::new();
    for target in TARGETS {
        let mut command = crate::cargo();
        command.args(["test", "--locked", "--no-fail-fast"]).args(target).arg("--").args(&names);
        let output = command.current_dir(root).output();
        let output = output.map_err(|error| format!("cargo: {error}"))?;
        let said = String::from_utf8_lossy(&output.stdout);
        verdicts
            .extend(said.lines().filter_map(verdict).map(|(name, is_ok)| (name.to_owned(), is_ok)));
        if verdicts.is_empty() {
            return Err(String::from_utf8_lossy(&output.stderr).into_owned());
        }
    }
    let (text, is_good) = table(&rows, &verdicts);
    if is_good { Ok(text) } else { Err(text) }
}

/// The rows of the file: a fault, and what it says of each adapter.
fn rows(text: &str) -> Result<Vec<(&str, [Cell<'_>; ADAPTERS.len()])>, String> {
    let lines = text.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    let row = |line| {
        let mut cells = str::split(line, " | ");
        let fault = cells.next().unwrap_or_default();
        let cells: Vec<_> = cells.map(cell).collect();
        match <[Cell<'_>; ADAPTERS.len()]>::try_from(cells) {
            Ok(cells) => Ok((fault, cells)),
            Err(_) => Err(format!("no row of a fault and {}: {line}", ADAPTERS.join(", "))),
        }
    };
    lines.map(row).collect()
}

fn cell(text: &str) -> Cell<'_> {
    match (text.strip_prefix("- "), text.strip_prefix("? ")) {
        (Some(why), _) => Cell::Never(why),
        (_, Some(why)) => Cell::Open(why),
        _ => Cell::Tests(text.split(", ").collect()),
    }
}

/// A test's name without its path.
fn last(path: &str) -> &str {
    path.rsplit("::").next().unwrap_or(path)
}

/// A line of a run: which test, and whether it is well.
fn verdict(line: &str) -> Option<(&str, bool)> {
    let (name, verdict) = line.strip_prefix("test ")?.rsplit_once(" ... ")?;
    (verdict != "ignored").then_some((name, verdict == "ok"))
}

/// The table, and whether every test that it names is there and well.
fn table(
    rows: &[(&str, [Cell<'_>; ADAPTERS.len()])],
    verdicts: &BTreeMap<String, bool>,
) -> (String, bool) {
    let mut text = "| fault | adapter | verdict |\n|---|---|---|\n".to_owned();
    let (mut shown, mut open, mut wrong) = (0, 0, 0);
    for (fault, cells) in rows {
        for (adapter, cell) in ADAPTERS.iter().zip(cells) {
            let verdict = match cell {
                Cell::Never(why) => format!("does not apply: {why}"),
                Cell::Open(why) => {
                    open += 1;
                    format!("not shown: {why}")
                }
                Cell::Tests(tests) => {
                    let bad: Vec<String> =
                        tests.iter().filter_map(|it| bad(it, verdicts)).collect();
                    if bad.is_empty() {
                        shown += 1;
                        format!("ok ({})", tests.len())
                    } else {
                        wrong += 1;
                        bad.join("; ")
                    }
                }
            };
            let _ = writeln!(text, "| {fault} | {adapter} | {verdict} |");
        }
    }
    let _ = write!(text, "faults: {shown} shown, {open} not shown, {wrong} failed");
    (text, wrong == 0)
}

/// What is wrong with a test that is named by the end of its path.
fn bad(test: &str, verdicts: &BTreeMap<String, bool>) -> Option<String> {
    let ends = |name: &str| name == test || name.ends_with(&format!("::{test}"));
    let mut found = verdicts.iter().filter(|(name, _)| ends(name)).map(|(_, is_ok)| *is_ok);
    match (found.next(), found.next()) {
        (None, _) => Some(format!("there is no {test}")),
        (Some(_), Some(_)) => Some(format!("there are several {test}")),
        (Some(is_ok), None) => (!is_ok).then(|| format!("FAILED: {test}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_has_a_cell_for_every_adapter() {
        let rows = rows(FAULTS).expect("rows");
        assert!(rows.len() >= 29, "{}", rows.len());
    }

    #[test]
    fn a_test_that_failed_or_is_not_there_is_no_verdict() {
        let text = "a | x::one | - why | x::one\nb | two, three | ? not yet | - never\n";
        let rows = rows(text).expect("rows");
        let well: Vec<(String, bool)> = ["test m::x::one ... ok", "test m::two ... FAILED"]
            .iter()
            .filter_map(|line| verdict(line))
            .map(|(name, is_ok)| (name.to_owned(), is_ok))
            .collect();
        let (text, is_good) = table(&rows, &well.into_iter().collect());
        assert!(!is_good);
        let expected = "| a | Deribit | ok (1) |\n| a | Binance | does not apply: why |\n\
                        | a | OKX | ok (1) |\n\
                        | b | Deribit | FAILED: two; there is no three |\n\
                        | b | Binance | not shown: not yet |\n\
                        | b | OKX | does not apply: never |\n\
                        faults: 2 shown, 1 not shown, 1 failed";
        assert!(text.ends_with(expected), "{text}");
        assert!(super::rows("a | x::one | - why\n").is_err(), "a cell is missing");
    }
}
