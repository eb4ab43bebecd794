//! `cargo xtask fix-suites`: acceptance scripts of other FIX engines against `taut fix echo`.

use std::path::Path;
use std::process::Command;

/// The archive of QuickFIX/J's sources: Maven Central has none of a later version.
const QUICKFIX_J: &str = "org.quickfixj:quickfixj-distribution:2.1.0:zip:src";

/// Fetches QuickFIX/Go and QuickFIX/J and plays their scripts; or plays the scripts of one folder
/// (`SUITE/VERSION/*.def`) over the dictionaries of another.
///
/// # Errors
/// In words: a script ended otherwise than it says, and nothing explains that.
pub fn run(root: &Path, folders: Option<[&str; 2]>) -> Result<String, String> {
    let test = match folders {
        None => {
            fetch_go(&root.join("bench/peers/fix/go"))?;
            fetch_java(&root.join("bench/peers/fix/target/quickfixj"))?;
            "every_script_of_quickfix"
        }
        Some(_) => "every_script_of_two_folders_passes",
    };
    let mut command = crate::cargo();
    command.args(["test", "--locked", "-p", "taut-cli", "--test", "fix_suites", "--"]);
    command.args(["--ignored", "--nocapture", "--test-threads", "1", test]).current_dir(root);
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
        false => Err(String::from("a script ended otherwise than it says, unexplained: see above")),
    }
}

/// Has Go fetch the sources that our own peer is built with.
fn fetch_go(peer: &Path) -> Result<(), String> {
    let status = Command::new("go").args(["mod", "download"]).current_dir(peer).status();
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("go mod download: {status}")),
        Err(error) => Err(format!("go: {error}; install Go, or name folders of scripts")),
    }
}

/// Has Maven unpack the sources of QuickFIX/J, once, and brings their dictionaries together.
fn fetch_java(folder: &Path) -> Result<(), String> {
    let dictionaries = folder.join("dictionaries");
    if dictionaries.is_dir() {
        return Ok(());
    }
    let io = |error: std::io::Error| format!("{}: {error}", folder.display());
    std::fs::create_dir_all(folder).map_err(io)?;
    let status = Command::new("mvn")
        .args(["-q", "-B", "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:unpack"])
        .arg(format!("-Dartifact={QUICKFIX_J}"))
        .arg(format!("-DoutputDirectory={}", folder.display()))
        // It leaves a folder `${project.basedir}` where it is run, for want of a project.
        .current_dir(folder)
        .status();
    match status {
        Ok(status) if status.success() => {}
        Ok(status) => return Err(format!("mvn dependency:unpack {QUICKFIX_J}: {status}")),
        Err(error) => return Err(format!("mvn: {error}; install Maven, or name folders")),
    }
    // Complete before it has its name.
    let half = folder.join("dictionaries.half");
    std::fs::create_dir_all(&half).map_err(io)?;
    let messages = folder.join("org.quickfixj-2.1.0/quickfixj-messages");
    for module in std::fs::read_dir(messages).map_err(io)?.flatten() {
        let resources = module.path().join("src/main/resources");
        for file in std::fs::read_dir(resources).into_iter().flatten().flatten() {
            if file.path().extension().is_some_and(|extension| extension == "xml") {
                std::fs::copy(file.path(), half.join(file.file_name())).map_err(io)?;
            }
        }
    }
    std::fs::rename(half, dictionaries).map_err(io)
}
