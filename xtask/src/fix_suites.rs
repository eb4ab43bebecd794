//! `cargo xtask fix-suites`: acceptance scripts of other FIX engines against `taut fix echo`.

use std::path::Path;
use std::process::Command;

/// Fetches QuickFIX/Go and plays its scripts; or plays the scripts of one folder
/// (`SUITE/VERSION/*.def`) over the dictionaries of another.
///
/// # Errors
/// In words: a script ended otherwise than it says, and nothing explains that.
pub fn run(root: &Path, folders: Option<[&str; 2]>) -> Result<String, String> {
    let test = match folders {
        None => {
            fetch(&root.join("bench/peers/fix/go"))?;
            "every_script_of_quickfix_go_passes_or_differs_as_explained"
        }
        Some(_) => "scripts_of_other_engines_are_told",
    };
    let mut command = crate::cargo();
    command.args(["test", "--locked", "-p", "taut-cli", "--test", "fix_suites", "--"]);
    command.args(["--ignored", "--nocapture", "--exact", test]).current_dir(root);
    if let Some([definitions, dictionaries]) = folders {
        for (name, folder) in
            [("TAUT_FIX_DEFINITIONS", definitions), ("TAUT_FIX_DICTIONARIES", dictionaries)]
        {
            let folder = std::fs::canonicalize(folder).map_err(|error| {
                format!("{folder}: {error}; name the folder of scripts, and that of dictionaries")
            })?;
            command.env(name, folder);
        }
    }
    let status = command.status().map_err(|error| format!("cargo: {error}"))?;
    match status.success() {
        true => Ok(String::from("fix-suites: every script ended as it says, or as explained")),
        false => Err(String::from("a script has no explanation: see above")),
    }
}

/// Has Go fetch the sources that our own peer is built with.
fn fetch(peer: &Path) -> Result<(), String> {
    let status = Command::new("go").args(["mod", "download"]).current_dir(peer).status();
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("go mod download: {status}")),
        Err(error) => Err(format!("go: {error}; install Go, or name folders of scripts")),
    }
}
