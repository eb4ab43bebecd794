//! The laws of the house, checked on a tree of files.
//!
//! A law is one file here: a name, a reason and a function from the [`House`] to its findings. The
//! tree is a map of path to text, from disk or made by a test, so no law's test needs a file.

mod boundary;
mod commands;
mod cycles;
mod docs;
mod doctests;
mod errors;
mod finding;
#[cfg(test)]
mod fixture;
mod house;
mod law;
mod layers;
mod listeners;
mod manifest;
mod module;
mod package;
mod path;
mod ports;
mod prose;
mod purity;
mod slang;
mod source;
mod tree;
mod unsafety;
mod waits;
mod width;
mod words;

use std::path::Path;

pub use house::House;
pub use law::Law;
pub use module::name_of as module_name;
pub use package::Package;
pub use source::Source;
pub use tree::Tree;

/// Every law, in the order in which its violations are printed.
pub const LAWS: &[Law] = &[
    layers::LAW,
    purity::LAW,
    unsafety::LAW,
    boundary::LAW,
    cycles::LAW,
    width::LAW,
    words::LAW,
    errors::LAW,
    manifest::LAW,
    docs::LAW,
    doctests::LAW,
    commands::LAW,
    waits::LAW,
    ports::LAW,
    listeners::LAW,
    slang::LAW,
    prose::LAW,
];

/// The whole check: how many laws hold, or the violations.
pub fn run(root: &Path) -> Result<String, String> {
    let tree = Tree::load(root).map_err(|error| format!("{}: {error}", root.display()))?;
    let violations = violations(&tree);
    match violations.len() {
        0 => Ok(format!("tidy: {} laws hold on {} files", LAWS.len(), tree.len())),
        count => {
            Err(format!("{}\n{count} violations in {} files", violations.join("\n"), tree.len()))
        }
    }
}

/// One line per violation: `path:line: law: what is wrong; what to do`.
fn violations(tree: &Tree) -> Vec<String> {
    let house = House::new(tree);
    LAWS.iter().flat_map(|law| law.violations(&house)).collect()
}

/// One line per law: its name and its reason.
pub fn list() -> String {
    let line = |law: &Law| format!("{:<9} {}", law.name, law.reason);
    LAWS.iter().map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::{LAWS, Path, Tree, fixture, list, violations};

    #[test]
    fn a_tree_that_keeps_every_law_has_no_violation() {
        assert_eq!(violations(&fixture::house()), Vec::<String>::new());
    }

    #[test]
    fn the_list_names_every_law_once_with_its_reason() {
        let list = list();
        assert_eq!(list.lines().count(), LAWS.len());
        for law in LAWS {
            let named = list.lines().filter(|line| line.starts_with(law.name)).count();
            assert_eq!(named, 1, "{}", law.name);
            assert!(list.contains(law.reason), "{}", law.name);
        }
    }

    #[test]
    fn the_real_repository_loads() {
        let tree = Tree::load(&Path::new(env!("CARGO_MANIFEST_DIR")).join("..")).unwrap();
        assert!(tree.text("Cargo.toml").is_some_and(|text| text.contains("[workspace]")));
        assert!(tree.text("xtask/src/tidy.rs").is_some());
        assert!(tree.files().all(|(path, _)| !path.starts_with("target/")));
        // The laws may be broken while somebody edits; that they run is what is tested here.
        violations(&tree);
    }
}
