//! The tree as laws see it: packages with their manifests, sources as tokens.

use std::collections::BTreeMap;

use super::finding::Finding;
use super::package::{Manifest, Package};
use super::source::Source;
use super::tree::Tree;

/// A tree, read once for all laws.
#[derive(Debug)]
pub struct House<'t> {
    /// Every file.
    pub tree: &'t Tree,
    /// The manifest of the workspace.
    pub root: Option<Manifest<'t>>,
    /// The members of the workspace, by folder.
    pub packages: Vec<Package<'t>>,
    /// Manifests and sources that are none.
    pub broken: Vec<Finding>,
    /// The folders of all manifests, of members or not.
    pub folders: Vec<&'t str>,
    sources: BTreeMap<&'t str, Source>,
}

impl<'t> House<'t> {
    /// Reads the manifests and the sources.
    pub fn new(tree: &'t Tree) -> Self {
        let mut house = Self {
            tree,
            root: None,
            packages: Vec::new(),
            broken: Vec::new(),
            folders: tree
                .texts()
                .filter_map(|(path, _)| path.strip_suffix("/Cargo.toml"))
                .collect(),
            sources: BTreeMap::new(),
        };
        for (path, text) in tree.texts().filter(|(path, _)| path.ends_with(".rs")) {
            match Source::new(text) {
                Ok(source) => drop(house.sources.insert(path, source)),
                Err(line) => {
                    let remedy = "let the compiler say more";
                    house.broken.push(Finding::new(path, line, "it is not Rust", remedy));
                }
            }
        }
        let Some((path, text)) = tree.texts().find(|(path, _)| *path == "Cargo.toml") else {
            let remedy = "run tidy on the root of the workspace";
            house.broken.push(Finding::new("Cargo.toml", 1, "it does not exist", remedy));
            return house;
        };
        house.root = house.manifest(path, text);
        for (path, text) in tree.texts() {
            let Some(folder) = path.strip_suffix("/Cargo.toml") else { continue };
            if house.is_member(folder)
                && let Some(manifest) = house.manifest(path, text)
            {
                house.packages.push(Package::new(folder, manifest));
            }
        }
        house
    }

    /// The package with this name, if it is a member.
    pub fn package(&self, name: &str) -> Option<&Package<'t>> {
        self.packages.iter().find(|package| package.name == name)
    }

    /// The source at `path`.
    pub fn source(&self, path: &str) -> Option<&Source> {
        self.sources.get(path)
    }

    /// All sources by path.
    pub fn sources(&self) -> impl Iterator<Item = (&'t str, &Source)> {
        self.sources.iter().map(|(&path, source)| (path, source))
    }

    /// The sources of one package, without those of packages inside its folder.
    pub fn sources_of(&self, package: &Package<'t>) -> impl Iterator<Item = (&'t str, &Source)> {
        let folder = package.folder;
        self.sources().filter(move |(path, _)| self.owner(path) == Some(folder))
    }

    fn owner(&self, path: &str) -> Option<&'t str> {
        let holds =
            |folder: &&str| path.strip_prefix(*folder).is_some_and(|rest| rest.starts_with('/'));
        self.folders.iter().copied().filter(holds).max_by_key(|folder| folder.len())
    }

    fn manifest(&mut self, path: &'t str, text: &'t str) -> Option<Manifest<'t>> {
        match Manifest::parse(path, text) {
            Ok(manifest) => Some(manifest),
            Err((line, message)) => {
                let what = format!("it is not TOML: {message}");
                self.broken.push(Finding::new(path, line, what, "correct it"));
                None
            }
        }
    }

    fn is_member(&self, folder: &str) -> bool {
        let Some(root) = &self.root else { return false };
        let any = |key| root.strings(&["workspace", key]).iter().any(|glob| matches(glob, folder));
        any("members") && !any("exclude")
    }
}

/// Whether a member's glob, in which `*` stands for one name, means this folder.
fn matches(glob: &str, folder: &str) -> bool {
    let (globs, names) = (glob.split('/'), folder.split('/'));
    globs.clone().count() == names.clone().count()
        && globs.zip(names).all(|(glob, name)| glob == "*" || glob == name)
}

#[cfg(test)]
mod tests {
    use super::House;
    use crate::tidy::fixture;

    #[test]
    fn members_are_packages_and_others_are_not() {
        let tree = fixture::with(&[("fuzz/Cargo.toml", "[package]"), ("fuzz/src/lib.rs", "")]);
        let house = House::new(&tree);
        let names: Vec<_> = house.packages.iter().map(|package| package.name.as_str()).collect();
        assert_eq!(names, ["taut-fix", "taut-simd", "taut-types", "xtask"]);
    }

    #[test]
    fn a_source_belongs_to_the_innermost_package() {
        let inner = [("xtask/in/Cargo.toml", "[package]"), ("xtask/in/src/lib.rs", "")];
        let tree = fixture::with(&inner);
        let house = House::new(&tree);
        let xtask = house.package("xtask").unwrap();
        let paths: Vec<_> = house.sources_of(xtask).map(|(path, _)| path).collect();
        assert_eq!(paths, ["xtask/src/main.rs"]);
    }
}
