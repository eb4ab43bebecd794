//! Layers: every package says where it stands, and depends strictly downwards.

use super::finding::Finding;
use super::house::House;
use super::law::Law;
use super::package::Package;

/// The law.
pub const LAW: Law = Law {
    name: "layers",
    reason: "dependencies point strictly down, so that no two crates can need each other",
    check,
};

const DECLARED: &[&str] = &["layer", "pure", "unsafe"];
const OPTIONAL: &[&str] = &["parser"];
/// Names that say nothing about what is inside.
const EMPTY_NAMES: &[&str] = &["common", "core", "util", "utils"];

fn check(house: &House<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for package in &house.packages {
        declares(package, &mut findings);
        is_named_well(package, &mut findings);
        depends_downwards(house, package, &mut findings);
    }
    for folder in &house.folders {
        if folder.strip_prefix("crates/").is_some_and(|rest| rest.contains('/')) {
            let path = format!("{folder}/Cargo.toml");
            findings.push(Finding::new(&path, 1, "a crate inside a crate", "crates/ is flat"));
        }
    }
    findings
}

fn declares(package: &Package<'_>, findings: &mut Vec<Finding>) {
    let manifest = &package.manifest;
    let declared =
        [package.layer.is_some(), package.pure.is_some(), package.may_be_unsafe.is_some()];
    for (key, _) in DECLARED.iter().zip(declared).filter(|(_, declared)| !declared) {
        let what = format!("`package.metadata.taut.{key}` is missing or of a wrong type");
        let remedy = "declare layer = N, pure = bool, unsafe = bool";
        let line = manifest.line(&["package", "metadata", "taut"]);
        findings.push(Finding::new(package.path(), line, what, remedy));
    }
    let Some(table) = manifest.table(&["package", "metadata", "taut"]) else { return };
    for key in table.keys().map(|key| key.get_ref().as_ref()) {
        if !DECLARED.contains(&key) && !OPTIONAL.contains(&key) {
            let line = manifest.line(&["package", "metadata", "taut", key]);
            let what = format!("`package.metadata.taut.{key}` is unknown");
            let remedy = "the keys are layer, pure, unsafe and parser";
            findings.push(Finding::new(package.path(), line, what, remedy));
        }
    }
}

fn is_named_well(package: &Package<'_>, findings: &mut Vec<Finding>) {
    let line = package.manifest.line(&["package", "name"]);
    let name = package.name.as_str();
    let mut wrong = |what: String, remedy: &str| {
        findings.push(Finding::new(package.path(), line, what, remedy));
    };
    if let Some(folder) = package.folder.strip_prefix("crates/")
        && folder != name
    {
        wrong(format!("package `{name}` in folder `{folder}`"), "give both the same name");
    }
    if EMPTY_NAMES.iter().any(|empty| name.rsplit(['-', '_']).next() == Some(empty)) {
        wrong(format!("`{name}` says nothing"), "name the crate after what it holds");
    }
}

fn depends_downwards(house: &House<'_>, package: &Package<'_>, findings: &mut Vec<Finding>) {
    for dependency in package.manifest.dependencies() {
        let Some(below) = house.package(&dependency.name) else { continue };
        // For its tests, with other features.
        if below.name == package.name {
            continue;
        }
        let (Some(layer), Some(layer_below)) = (package.layer, below.layer) else { continue };
        if layer_below >= layer {
            let what = format!(
                "`{}` (layer {layer}) depends on `{}` (layer {layer_below})",
                package.name, below.name
            );
            let remedy = "depend strictly downwards; a test that needs both goes to tests/";
            findings.push(Finding::new(package.path(), dependency.line, what, remedy));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::LAW;
    use crate::tidy::fixture::{assert_broken, assert_kept, check, manifest, with};

    const RING: &str = "crates/taut-simd/Cargo.toml";

    #[test]
    fn a_dependency_points_strictly_down() {
        let up = manifest("taut-simd", 1, false, true, "taut-fix.workspace = true");
        assert_broken(&LAW, &[(RING, &up)], "crates/taut-simd/Cargo.toml:16", "(layer 2)");
        let level = manifest("taut-fix", 1, true, false, "taut-simd = { workspace = true }");
        let place = "crates/taut-fix/Cargo.toml:16";
        assert_broken(&LAW, &[("crates/taut-fix/Cargo.toml", &level)], place, "`taut-simd`");
        let outside = manifest("taut-simd", 1, false, true, "serde.workspace = true");
        assert_kept(&LAW, &[(RING, &outside)]);
    }

    #[test]
    fn dependencies_of_tests_builds_and_targets_and_renamed_ones_count() {
        for section in ["dev-dependencies", "build-dependencies", "target.'cfg(a)'.dependencies"] {
            let other =
                format!("[{section}]\nother = {{ workspace = true, package = \"taut-fix\" }}");
            let up = manifest("taut-simd", 1, false, true, &other);
            assert_broken(&LAW, &[(RING, &up)], "crates/taut-simd/Cargo.toml:17", "`taut-fix`");
        }
    }

    #[test]
    fn every_package_declares_itself() {
        let text = manifest("taut-simd", 1, false, true, "");
        let silent = text.replace("pure = false\n", "");
        assert_broken(&LAW, &[(RING, &silent)], "crates/taut-simd/Cargo.toml:7", "taut.pure");
        let wrong = text.replace("layer = 1", "layer = \"1\"");
        assert_broken(&LAW, &[(RING, &wrong)], "crates/taut-simd/Cargo.toml:7", "taut.layer");
        let mistyped = text.replace("[lints]", "parsre = true\n[lints]");
        assert_broken(&LAW, &[(RING, &mistyped)], "crates/taut-simd/Cargo.toml:12", "taut.parsre");
    }

    #[test]
    fn a_crate_is_named_as_its_folder_and_after_what_it_holds() {
        let other = manifest("taut-simds", 1, false, true, "");
        assert_broken(&LAW, &[(RING, &other)], "crates/taut-simd/Cargo.toml:2", "`taut-simds`");
        let empty = manifest("taut-utils", 1, false, true, "");
        let place = "crates/taut-utils/Cargo.toml:2";
        assert_broken(&LAW, &[("crates/taut-utils/Cargo.toml", &empty)], place, "says nothing");
    }

    #[test]
    fn crates_are_flat() {
        let tree = with(&[("crates/taut-simd/inner/Cargo.toml", "[package]\n")]);
        let violations = check(&LAW, &tree);
        assert_eq!(violations.len(), 1);
        assert!(violations[0].starts_with("crates/taut-simd/inner/Cargo.toml:1: layers: "));
    }
}
