//! `cargo xtask soak`: what is too long for every run of the tests.

use std::path::Path;
use std::process::Command;

/// Runs so many schedules of gateway and venue, from seed 0 on.
///
/// # Errors
/// In words: a schedule failed.
pub fn schedules(root: &Path, count: u64) -> Result<String, String> {
    let test = ["test", "--release", "-p", "taut-tests", "--test", "gateway_schedules"];
    let status = Command::new("cargo")
        .args(test)
        .args(["--", "--ignored", "--nocapture"])
        .env("TAUT_SEEDS", format!("0..{count}"))
        .current_dir(root)
        .status()
        .map_err(|error| format!("cargo: {error}"))?;
    if status.success() {
        Ok(format!("soak: {count} schedules kept gateway and venue equal"))
    } else {
        Err(format!(
            "a schedule failed; alone: TAUT_SEED=n cargo {} -- --ignored --nocapture",
            test.join(" ")
        ))
    }
}
