//! A `Cargo.toml`, with the line of everything that it says.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

const SECTIONS: &[&str] = &["dependencies", "dev-dependencies", "build-dependencies"];

/// A parsed manifest.
#[derive(Debug)]
pub struct Manifest<'t> {
    /// Where it is, from the root of the repository.
    pub path: &'t str,
    text: &'t str,
    table: DeTable<'t>,
}

/// One line under a manifest's dependencies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dependency {
    /// The package, behind a rename too.
    pub name: String,
    /// Its line, from 1.
    pub line: usize,
    /// It says `workspace = true` and names no source of its own.
    pub inherited: bool,
}

/// A member of the workspace and what it declares about itself.
#[derive(Debug)]
pub struct Package<'t> {
    /// The package's name; its folder's where it has none.
    pub name: String,
    /// Its folder.
    pub folder: &'t str,
    /// Its `Cargo.toml`.
    pub manifest: Manifest<'t>,
    /// `package.metadata.taut.layer`.
    pub layer: Option<i64>,
    /// `package.metadata.taut.pure`.
    pub pure: Option<bool>,
    /// `package.metadata.taut.unsafe`.
    pub may_be_unsafe: Option<bool>,
    /// `package.metadata.taut.parser`: it reads bytes from outside.
    pub parser: bool,
}

impl<'t> Manifest<'t> {
    /// Parses it; the error is a line and a message.
    pub fn parse(path: &'t str, text: &'t str) -> Result<Self, (usize, String)> {
        match DeTable::parse(text) {
            Ok(table) => Ok(Self { path, text, table: table.into_inner() }),
            Err(error) => {
                let at = error.span().map_or(0, |span| span.start);
                Err((line_of(text, at), error.message().to_owned()))
            }
        }
    }

    /// The value under these keys, one inside the other.
    pub fn get(&self, keys: &[&str]) -> Option<&Spanned<DeValue<'t>>> {
        let (last, tables) = keys.split_last()?;
        let mut table = &self.table;
        for key in tables {
            table = table.get(*key)?.get_ref().as_table()?;
        }
        table.get(*last)
    }

    /// The table under these keys.
    pub fn table(&self, keys: &[&str]) -> Option<&DeTable<'t>> {
        self.get(keys)?.get_ref().as_table()
    }

    /// Whether the value under these keys is `true`.
    pub fn is_true(&self, keys: &[&str]) -> bool {
        self.bool(keys) == Some(true)
    }

    /// Whether the value under these keys is `false`.
    pub fn is_false(&self, keys: &[&str]) -> bool {
        self.bool(keys) == Some(false)
    }

    fn bool(&self, keys: &[&str]) -> Option<bool> {
        self.get(keys)?.get_ref().as_bool()
    }

    /// The strings in the array under these keys.
    pub fn strings(&self, keys: &[&str]) -> Vec<&str> {
        let array = self.get(keys).and_then(|value| value.get_ref().as_array());
        array.into_iter().flatten().filter_map(|value| value.get_ref().as_str()).collect()
    }

    /// The line of a value under these keys, or the first one.
    pub fn line(&self, keys: &[&str]) -> usize {
        self.get(keys).map_or(1, |value| line_of(self.text, value.span().start))
    }

    /// What it depends on: to run, to test, to build, on any target.
    pub fn dependencies(&self) -> Vec<Dependency> {
        let mut tables = vec![&self.table];
        if let Some(targets) = self.table(&["target"]) {
            tables.extend(targets.values().filter_map(|target| target.get_ref().as_table()));
        }
        let sections = tables.into_iter().flat_map(|table| {
            SECTIONS.iter().filter_map(|section| table.get(*section)?.get_ref().as_table())
        });
        sections.flat_map(|section| self.entries(section)).collect()
    }

    /// What `[workspace.dependencies]` offers.
    pub fn offered(&self) -> Vec<Dependency> {
        let table = self.table(&["workspace", "dependencies"]);
        table.map(|table| self.entries(table)).unwrap_or_default()
    }

    fn entries(&self, section: &DeTable<'t>) -> Vec<Dependency> {
        let entry = |(key, value): (&Spanned<_>, &Spanned<DeValue<'t>>)| {
            let key_name: &std::borrow::Cow<'_, str> = key.get_ref();
            let value = value.get_ref();
            let said = |name: &str| value.as_table().and_then(|table| table.get(name));
            let renamed = said("package").and_then(|package| package.get_ref().as_str());
            let own =
                ["version", "path", "git", "registry"].iter().any(|name| said(name).is_some());
            let shared = said("workspace").and_then(|shared| shared.get_ref().as_bool());
            Dependency {
                name: renamed.unwrap_or(key_name).to_owned(),
                line: line_of(self.text, key.span().start),
                inherited: shared == Some(true) && !own,
            }
        };
        section.iter().map(entry).collect()
    }
}

impl<'t> Package<'t> {
    /// What the manifest of the member in `folder` declares.
    pub fn new(folder: &'t str, manifest: Manifest<'t>) -> Self {
        let taut = |key| manifest.get(&["package", "metadata", "taut", key]).map(Spanned::get_ref);
        let flag = |key| taut(key).and_then(DeValue::as_bool);
        let layer = taut("layer").and_then(DeValue::as_integer);
        let name = manifest.get(&["package", "name"]).and_then(|name| name.get_ref().as_str());
        Self {
            name: name.unwrap_or(folder).to_owned(),
            folder,
            layer: layer.and_then(|layer| layer.as_str().parse().ok()),
            pure: flag("pure"),
            may_be_unsafe: flag("unsafe"),
            parser: flag("parser") == Some(true),
            manifest,
        }
    }

    /// The path of its `Cargo.toml`.
    pub fn path(&self) -> &'t str {
        self.manifest.path
    }

    /// The path of a file of it.
    pub fn file(&self, name: &str) -> String {
        format!("{}/{name}", self.folder)
    }
}

fn line_of(text: &str, at: usize) -> usize {
    1 + text.bytes().take(at).filter(|&byte| byte == b'\n').count()
}

#[cfg(test)]
mod tests {
    use super::{Dependency, Manifest, Package};

    const TEXT: &str = "\
[package]
name = \"a\"
[package.metadata.taut]
layer = 3
pure = true
unsafe = false
[dependencies]
b.workspace = true
c = { version = \"1\", package = \"d\" }
[target.'cfg(loom)'.dev-dependencies]
e = { workspace = true, features = [\"f\"] }
";

    #[test]
    fn declares_its_layer_and_its_dependencies_by_line() {
        let package = Package::new("crates/a", Manifest::parse("Cargo.toml", TEXT).unwrap());
        assert_eq!((&*package.name, package.layer), ("a", Some(3)));
        assert_eq!((package.pure, package.may_be_unsafe), (Some(true), Some(false)));
        let dependency =
            |name: &str, line, inherited| Dependency { name: name.into(), line, inherited };
        assert_eq!(
            package.manifest.dependencies(),
            [dependency("b", 8, true), dependency("d", 9, false), dependency("e", 11, true)]
        );
    }

    #[test]
    fn a_broken_manifest_names_its_line() {
        let (line, _) = Manifest::parse("Cargo.toml", "[a]\nb = = c\n").unwrap_err();
        assert_eq!(line, 2);
    }
}
