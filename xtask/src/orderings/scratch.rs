//! A copy of the lock-free crates in which every ordering is looked up at run time, built under
//! loom: one build for all mutants.

use std::fs;
use std::path::{Path, PathBuf};

use super::site::{Mutant, instrument};

/// What is copied. Everything but the crate of the atomics is mutated.
const FACADE: &str = "crates/taut-sync";
const MUTATED: &[&str] = &["crates/taut-ring/src"];
const AS_IT_IS: &[&str] = &[
    FACADE,
    "crates/taut-simd",
    "crates/taut-ring/Cargo.toml",
    "crates/taut-ring/tests",
    "Cargo.lock",
];

/// What the facade of the copy offers besides: mutant 0 is none.
const WEAKEN: &str = r#"
/// The ordering of this place for the mutant that runs.
pub fn weaken(choices: &[(usize, Ordering)], ordering: Ordering) -> Ordering {
    static MUTANT: std::sync::OnceLock<usize> = std::sync::OnceLock::new();
    static REACHED: std::sync::Once = std::sync::Once::new();
    let read = || std::env::var("TAUT_MUTANT").ok().and_then(|n| n.parse().ok()).unwrap_or(0);
    let mutant = *MUTANT.get_or_init(read);
    let Some((_, weaker)) = choices.iter().find(|(number, _)| *number == mutant) else {
        return ordering;
    };
    REACHED.call_once(|| {
        use std::io::Write;
        let _ = writeln!(std::io::stderr(), "mutant reached");
    });
    *weaker
}

/// A fence; a relaxed one is none.
pub fn fence(ordering: Ordering) {
    if ordering != Ordering::Relaxed {
        loom::sync::atomic::fence(ordering);
    }
}
"#;

/// The copy, not yet built.
pub struct Scratch {
    directory: PathBuf,
    target: PathBuf,
    /// All mutants; the first one has number 1.
    pub mutants: Vec<Mutant>,
    /// Everything that the result depends on, but the list and the tool.
    pub text: String,
}

impl Scratch {
    /// Copies and instruments the crates of the workspace at `root`.
    pub fn prepare(root: &Path, target: &Path) -> Result<Self, String> {
        let directory = target.join("orderings");
        if directory.exists() {
            fs::remove_dir_all(&directory).map_err(|error| format!("{directory:?}: {error}"))?;
        }
        let (mut mutants, mut text) = (Vec::new(), String::new());
        let mut files = Vec::new();
        for name in AS_IT_IS.iter().chain(MUTATED) {
            collect(&root.join(name), &mut files)?;
        }
        files.sort();
        for path in files {
            let name = path.strip_prefix(root).unwrap_or(&path).to_string_lossy().into_owned();
            let content = read(&path)?;
            text.push_str(&content);
            let content = match name.as_str() {
                "crates/taut-sync/src/atomic.rs" => without_fence(&content)? + WEAKEN,
                "crates/taut-sync/src/lib.rs" => {
                    content + "\nextern crate std;\npub use atomic::weaken;\n"
                }
                _ if MUTATED.iter().any(|mutated| name.starts_with(mutated)) => {
                    instrument(&name, &content, &mut mutants)?
                }
                _ => content,
            };
            write(&directory.join(&name), &content)?;
        }
        let manifest = workspace(&read(&root.join("Cargo.toml"))?);
        write(&directory.join("Cargo.toml"), &manifest)?;
        // Shared with the ordinary run of the models: other crates are built once.
        Ok(Self { directory, target: target.join("loom"), mutants, text: text + &manifest })
    }

    /// Builds the models; returns their program.
    pub fn build(&self) -> Result<PathBuf, String> {
        let flags = std::env::var("RUSTFLAGS").unwrap_or_default() + " --cfg loom";
        let output = crate::cargo()
            .args(["test", "--release", "--offline", "-p", "taut-ring", "--test", "loom"])
            .args(["--no-run", "--target-dir"])
            .arg(&self.target)
            .current_dir(&self.directory)
            .env("RUSTFLAGS", flags)
            .output()
            .map_err(|error| format!("cargo: {error}"))?;
        let said = String::from_utf8_lossy(&output.stderr);
        let program = said.lines().find_map(|line| {
            let (_, path) = line.trim().strip_prefix("Executable")?.split_once('(')?;
            Some(PathBuf::from(path.strip_suffix(')')?))
        });
        program.filter(|_| output.status.success()).ok_or_else(|| format!("cargo test:\n{said}"))
    }
}

/// The workspace's manifest with the copied crates as its only members, and without what says how
/// to build unoptimised: the models are built in release, and no change of that is theirs.
fn workspace(manifest: &str) -> String {
    let mut is_of_dev = false;
    let is_kept = |line: &&str| {
        if line.starts_with('[') {
            is_of_dev = line.starts_with("[profile.dev");
        }
        !is_of_dev && !line.starts_with("default-members =")
    };
    let line = |line: &str| match line {
        _ if line.starts_with("members =") => {
            "members = [\"crates/taut-ring\", \"crates/taut-simd\", \"crates/taut-sync\"]\n"
                .to_owned()
        }
        _ => format!("{line}\n"),
    };
    manifest.lines().filter(is_kept).map(line).collect()
}

/// The facade without the fence that [`WEAKEN`] replaces.
fn without_fence(facade: &str) -> Result<String, String> {
    let without = facade.replace("Ordering, fence,", "Ordering,");
    if without == facade {
        return Err("taut-sync's atomic.rs exports `fence` otherwise than expected".to_owned());
    }
    Ok(without)
}

fn collect(path: &Path, files: &mut Vec<PathBuf>) -> Result<(), String> {
    if !path.is_dir() {
        files.push(path.to_owned());
        return Ok(());
    }
    let entries = fs::read_dir(path).map_err(|error| format!("{}: {error}", path.display()))?;
    for entry in entries {
        collect(&entry.map_err(|error| error.to_string())?.path(), files)?;
    }
    Ok(())
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

fn write(path: &Path, content: &str) -> Result<(), String> {
    let parent = path.parent().unwrap_or(path);
    fs::create_dir_all(parent)
        .and_then(|()| fs::write(path, content))
        .map_err(|error| format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::workspace;

    #[test]
    fn a_profile_of_unoptimised_builds_is_not_the_models() {
        let manifest =
            "[profile.release]\nlto = \"fat\"\n[profile.dev.package.x]\nopt-level = 1\n[a]\n";
        assert_eq!(workspace(manifest), "[profile.release]\nlto = \"fat\"\n[a]\n");
    }
}
