//! `cargo xtask sbe-corpus`: the reference tool reads our messages of every schema.

use std::path::Path;

/// Runs the test over the schemas beside the repository and taut's own, and those of a folder.
///
/// # Errors
/// In words: no such folder, or the reference makes other bytes of a message.
pub fn run(root: &Path, folder: Option<&str>) -> Result<String, String> {
    let mut command = crate::cargo();
    command.args(["test", "--locked", "-p", "taut-sbe-gen", "--test", "interop", "--"]);
    command.args(["--ignored", "--nocapture"]).current_dir(root);
    if let Some(folder) = folder {
        let path = std::fs::canonicalize(folder)
            .map_err(|error| format!("{folder}: {error}; name a folder of schemas"))?;
        command.env("TAUT_SBE_SCHEMAS", path);
    }
    let status = command.status().map_err(|error| format!("cargo: {error}"))?;
    match status.success() {
        true => Ok(String::from(
            "sbe-corpus: the reference agrees on every message of the schemas that both take",
        )),
        false => Err(String::from("the reference does not agree: see above")),
    }
}
