//! `cargo xtask clients`: strangers' clients against the venues that we play, as a table.

use std::path::Path;

/// Plays every client, and prints client, step and verdict.
///
/// # Errors
/// In words: a step failed, or no client could be fetched.
pub fn run(root: &Path) -> Result<String, String> {
    let mut command = crate::cargo();
    command.args(["test", "--locked", "-p", "taut-cli", "--test", "web_clients", "--"]);
    command.arg("--nocapture").env("TAUT_ALL_CLIENTS", "1");
    let output = command.current_dir(root).output();
    let output = output.map_err(|error| format!("cargo: {error}"))?;
    let said = String::from_utf8_lossy(&output.stdout);
    let rows = table(&said);
    match (output.status.success(), rows.is_empty()) {
        (true, false) => Ok(format!("{rows}clients: every step of every client that is here")),
        (true, true) => Err(format!("no client is here:\n{said}")),
        (false, _) => Err(format!("{rows}{said}{}", String::from_utf8_lossy(&output.stderr))),
    }
}

/// The lines `CLIENT VENUE STEP: VERDICT` of a run as a table, and what was skipped.
fn table(said: &str) -> String {
    let row = |line: &str| {
        if let Some(why) = line.strip_prefix("skipped: ") {
            return Some(format!("| | | | skipped: {why} |\n"));
        }
        let (head, verdict) = line.split_once(": ")?;
        let mut words = head.split(' ');
        let (client, venue, step) = (words.next()?, words.next()?, words.next()?);
        let is_row = words.next().is_none() && matches!(venue, "deribit" | "binance");
        is_row.then(|| format!("| {client} | {venue} | {step} | {verdict} |\n"))
    };
    let rows: String = said.lines().filter_map(row).collect();
    if rows.is_empty() {
        return rows;
    }
    format!("| client | venue | step | verdict |\n|---|---|---|---|\n{rows}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_becomes_a_table() {
        let said = "running 1 test\nccxt deribit edit: ok\nskipped: no x\ntest a ... ok\n";
        let rows = table(said);
        assert!(
            rows.ends_with("| ccxt | deribit | edit | ok |\n| | | | skipped: no x |\n"),
            "{rows}"
        );
        assert_eq!(table("running 0 tests\n"), "");
    }
}
