//! `cargo xtask fuzz`: every fuzz target for some seconds.

use std::fs;
use std::path::Path;
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

/// Runs each target for so many seconds.
///
/// # Errors
/// In words: cargo-fuzz is missing, or the first target that found something.
pub fn run(root: &Path, seconds: u32) -> Result<String, String> {
    let targets = targets(root)?;
    for target in &targets {
        // Safe code needs no sanitizer; the coverage flags are why a stable compiler is told to
        // take unstable ones.
        let status = Command::new("cargo")
            .args(["fuzz", "run", "--sanitizer", "none", target, "--"])
            .arg(format!("-max_total_time={seconds}"))
            .env("RUSTC_BOOTSTRAP", "1")
            .current_dir(root.join("fuzz"))
            .status()
            .map_err(|error| format!("cargo: {error}"))?;
        if !status.success() {
            return Err(format!(
                "{target} failed; without cargo-fuzz: cargo install cargo-fuzz --locked"
            ));
        }
    }
    Ok(format!("fuzz: {} targets found nothing in {seconds} s each", targets.len()))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

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
