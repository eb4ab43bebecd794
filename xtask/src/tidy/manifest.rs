//! Manifests: one place for editions, licences, lints and versions.

use super::finding::Finding;
use super::house::House;
use super::law::Law;
use super::package::Package;

/// The law.
pub const LAW: Law = Law {
    name: "manifest",
    reason: "edition, lints, licence and every version are decided once, in the workspace",
    check,
};

const INHERITED: &[&[&str]] =
    &[&["package", "edition"], &["package", "rust-version"], &["package", "license"], &["lints"]];
const BANNED: &[&str] = &["bincode", "figment", "plotters"];

fn check(house: &House<'_>) -> Vec<Finding> {
    let mut findings = house.broken.clone();
    for package in &house.packages {
        inherits(package, &mut findings);
        for dependency in package.manifest.dependencies() {
            if !dependency.inherited {
                let what = format!("`{}` has a source of its own", dependency.name);
                let remedy = "list it in [workspace.dependencies] and say `workspace = true` here";
                findings.push(Finding::new(package.path(), dependency.line, what, remedy));
            }
        }
    }
    let members = house.packages.iter().map(|package| &package.manifest);
    for manifest in members.chain(&house.root) {
        for dependency in manifest.dependencies().into_iter().chain(manifest.offered()) {
            if BANNED.contains(&&*dependency.name) {
                let what = format!("`{}` is banned", dependency.name);
                let remedy = "see deny.toml for the reason and choose another";
                findings.push(Finding::new(manifest.path, dependency.line, what, remedy));
            }
        }
    }
    findings
}

fn inherits(package: &Package<'_>, findings: &mut Vec<Finding>) {
    for keys in INHERITED {
        if !package.manifest.is_true(&[keys, ["workspace"].as_slice()].concat()) {
            let line = package.manifest.line(keys);
            let what = format!("`{}` is not inherited", keys.join("."));
            let remedy = format!("say `{}.workspace = true`", keys.join("."));
            findings.push(Finding::new(package.path(), line, what, remedy));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::LAW;
    use crate::tidy::fixture::{assert_broken, manifest};

    const PATH: &str = "xtask/Cargo.toml";

    fn tools(dependencies: &str) -> String {
        manifest("xtask", 9, false, false, dependencies)
    }

    #[test]
    fn what_the_workspace_decides_is_inherited() {
        let own = tools("").replace("edition.workspace = true", "edition = \"2021\"");
        assert_broken(&LAW, &[(PATH, &own)], "xtask/Cargo.toml:3", "`package.edition`");
        let none = tools("").replace("license.workspace = true\n", "");
        assert_broken(&LAW, &[(PATH, &none)], "xtask/Cargo.toml:1", "`package.license`");
        let lints = tools("").replace("[lints]\nworkspace = true", "[lints]\nworkspace = false");
        assert_broken(&LAW, &[(PATH, &lints)], "xtask/Cargo.toml:12", "`lints`");
    }

    #[test]
    fn versions_live_in_the_workspace() {
        for own in ["serde = \"1\"", "serde.version = \"1\"", "serde = { path = \"../serde\" }"] {
            assert_broken(&LAW, &[(PATH, &tools(own))], "xtask/Cargo.toml:16", "`serde`");
        }
    }

    #[test]
    fn banned_crates_stay_out() {
        let text = tools("bincode.workspace = true");
        assert_broken(&LAW, &[(PATH, &text)], "xtask/Cargo.toml:16", "`bincode` is banned");
        let root = "[workspace]\n[workspace.dependencies]\nfigment = \"1\"\n";
        assert_broken(&LAW, &[("Cargo.toml", root)], "Cargo.toml:3", "`figment` is banned");
    }

    #[test]
    fn a_manifest_is_toml() {
        assert_broken(&LAW, &[(PATH, "[package\n")], "xtask/Cargo.toml:1", "not TOML");
    }

    #[test]
    fn a_source_is_rust() {
        let open = ("xtask/src/main.rs", "fn main() {\n}}\n");
        assert_broken(&LAW, &[open], "xtask/src/main.rs:2", "not Rust");
    }
}
