//! Who uses whom among the file modules of one crate.
//!
//! A path ends at the module that defines what it names, not at the one through which it was
//! reached: `crate::Price` with `pub use price::Price` in lib.rs is a use of `price`. The root
//! itself is nobody's target; it is the list of what is public.

use std::collections::{BTreeMap, BTreeSet};

use super::path::{Path, paths};
use super::source::{Source, Token, is_sequence, text_at};

/// A module's name from the root: `["session", "state"]`; the root's is empty.
pub type Name = Vec<String>;

/// One use: module `from` names something of module `to`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Use {
    /// The user.
    pub from: Name,
    /// The used.
    pub to: Name,
    /// The user's file.
    pub path: String,
    /// The line, from 1.
    pub line: usize,
}

/// All uses between different modules; `files` are the sources below `src/`, by their path in it,
/// each with its full path.
pub fn uses(files: &[(&str, &str, &Source)]) -> Vec<Use> {
    let mut modules = Modules::new(files);
    modules.read_imports();
    let mut uses = Vec::new();
    for (from, module) in modules.all.iter().filter(|(name, _)| !name.is_empty()) {
        for path in &module.paths {
            let Some(target) = modules.absolute(from, path) else { continue };
            let mut targets = BTreeSet::new();
            modules.resolve(&target, HOPS_MAX, &mut targets);
            let (file, line) = (module.file.to_owned(), path.line);
            uses.extend(targets.into_iter().filter(|to| to != from).map(|to| Use {
                from: from.clone(),
                to,
                path: file.clone(),
                line,
            }));
        }
    }
    uses
}

/// Words before the name of something that a module defines.
const DEFINING: &[&str] =
    &["const", "enum", "fn", "mod", "static", "struct", "trait", "type", "union"];
/// Re-exports of re-exports that are followed; code that compiles needs few.
const HOPS_MAX: usize = 16;

#[derive(Default)]
struct Module<'s> {
    file: &'s str,
    paths: Vec<Path>,
    defined: BTreeSet<String>,
    /// What its own `use` lines name: the name and the absolute path.
    imports: BTreeMap<String, Name>,
    /// The modules whose whole content it imports.
    globs: Vec<Name>,
}

struct Modules<'s> {
    all: BTreeMap<Name, Module<'s>>,
}

impl<'s> Modules<'s> {
    /// The modules that ship. lib.rs and main.rs share the root: neither is ever a target.
    fn new(files: &[(&str, &'s str, &Source)]) -> Self {
        let mut all: BTreeMap<Name, Module<'s>> = BTreeMap::new();
        let mut test_only = Vec::new();
        for (path, file, source) in files {
            let Some(name) = name_of(path) else { continue };
            let declared = declared(&source.shipped_tokens);
            let every = self::declared(&source.tokens);
            let children = every.difference(&declared);
            test_only.extend(children.map(|child| [&name[..], &[(*child).to_owned()]].concat()));
            let module = all.entry(name).or_default();
            module.file = file;
            module.paths.extend(paths(source.shipped.clone()));
            let names =
                source.shipped_tokens.windows(2).filter(|pair| DEFINING.contains(&&*pair[0].text));
            module.defined.extend(names.map(|pair| pair[1].text.clone()));
        }
        all.retain(|name, _| !test_only.iter().any(|test| name.starts_with(test)));
        Self { all }
    }

    fn read_imports(&mut self) {
        let mut imports = Vec::new();
        for (name, module) in &self.all {
            for path in module.paths.iter().filter(|path| path.depth == 0) {
                if let (Some(import), Some(target)) = (&path.import, self.absolute(name, path)) {
                    imports.push((name.clone(), import.clone(), target));
                }
            }
        }
        for (name, import, mut target) in imports {
            let Some(module) = self.all.get_mut(&name) else { continue };
            if import == "*" {
                target.pop();
                module.globs.push(target);
            } else {
                module.imports.insert(import, target);
            }
        }
    }

    /// The path from the root of what `path` in module `from` names; none when it leaves the crate.
    fn absolute(&self, from: &Name, path: &Path) -> Option<Name> {
        let mut base = from.clone();
        base.extend(path.inline.iter().cloned());
        let names = path.names();
        let mut rest = &names[..];
        match *rest.first()? {
            _ if path.global => return None,
            "crate" => (base, rest) = (Name::new(), &rest[1..]),
            "self" => rest = &rest[1..],
            "super" => {}
            child => {
                base.push(child.to_owned());
                if !self.all.contains_key(&base) {
                    return None;
                }
                rest = &rest[1..];
            }
        }
        while let ["super", tail @ ..] = rest {
            base.pop()?;
            rest = tail;
        }
        base.extend(rest.iter().map(|&name| name.to_owned()));
        Some(base)
    }

    /// Adds the modules that define what `target` names.
    fn resolve(&self, target: &[String], hops: usize, found: &mut BTreeSet<Name>) {
        let mut at = Name::new();
        for (index, name) in target.iter().enumerate() {
            at.push(name.clone());
            if self.all.contains_key(&at) {
                continue;
            }
            at.pop();
            return self.resolve_item(&at, &target[index..], hops, found);
        }
        self.add(at, found);
    }

    /// Adds the modules that define `path`, which begins with an item (or `*`) of module `at`.
    fn resolve_item(&self, at: &Name, path: &[String], hops: usize, found: &mut BTreeSet<Name>) {
        let (Some(module), Some(item), true) = (self.all.get(at), path.first(), hops > 0) else {
            return;
        };
        if item == "*" && at.is_empty() {
            // Everything on the curated list.
            module.imports.values().for_each(|import| self.resolve(import, hops - 1, found));
            module.globs.iter().for_each(|glob| self.resolve(glob, hops - 1, found));
        } else if let Some(import) = module.imports.get(item.as_str()) {
            self.resolve(&[import, &path[1..]].concat(), hops - 1, found);
        } else if let Some(glob) = self.glob_with(module, item) {
            self.resolve(&[glob, path].concat(), hops - 1, found);
        } else {
            self.add(at.clone(), found);
        }
    }

    /// The module through whose glob import `module` has `item`, unless it defines it.
    fn glob_with<'m>(&'m self, module: &'m Module<'s>, item: &str) -> Option<&'m Name> {
        let has = |glob: &&Name| self.all.get(*glob).is_some_and(|m| m.defined.contains(item));
        if module.defined.contains(item) { None } else { module.globs.iter().find(has) }
    }

    fn add(&self, name: Name, found: &mut BTreeSet<Name>) {
        if !name.is_empty() {
            found.insert(name);
        }
    }
}

/// The module in the file at `path` below `src/`; none for tests and for other binaries' roots.
pub fn name_of(path: &str) -> Option<Name> {
    let stem = path.strip_suffix(".rs")?;
    let mut name: Name = stem.split('/').map(str::to_owned).collect();
    if matches!(stem, "lib" | "main") || name.last().is_some_and(|last| last == "mod") {
        name.pop();
    }
    let exempt = path.starts_with("bin/") || name.iter().any(|part| part == "tests");
    (!exempt).then_some(name)
}

/// The modules that are declared as files: `mod name;`.
fn declared(tokens: &[Token]) -> BTreeSet<&str> {
    let files = (0..tokens.len())
        .filter(|&at| is_sequence(tokens, at, &["mod"]) && text_at(tokens, at + 2) == ";");
    files.map(|at| text_at(tokens, at + 1)).collect()
}

#[cfg(test)]
mod tests {
    use super::uses;
    use crate::tidy::source::Source;

    /// The uses as `from -> to`, in order of modules and lines.
    fn graph(files: &[(&str, &str)]) -> Vec<String> {
        let sources = files.iter().map(|(_, code)| Source::new(code).expect("tokens"));
        let sources: Vec<_> = sources.collect();
        let files = files.iter().zip(&sources).map(|((path, _), source)| (*path, *path, source));
        let files: Vec<_> = files.collect();
        let name = |name: &[String]| name.join("::");
        uses(&files).iter().map(|u| format!("{} -> {}", name(&u.from), name(&u.to))).collect()
    }

    const ROOT: (&str, &str) = ("lib.rs", "mod a; mod b; pub use a::A; pub use b::{B as C, *};");
    const B: (&str, &str) = ("b.rs", "pub struct B; pub struct D;");

    #[test]
    fn a_path_through_the_root_ends_where_the_name_is_defined() {
        for code in ["use crate::b::B;", "use crate::{C};", "fn f() { crate::D::g() }"] {
            assert_eq!(graph(&[ROOT, ("a.rs", code), B]), ["a -> b"], "{code}");
        }
        for code in ["use crate::A;", "use crate::E;", "use core::b::B;", "pub(crate) struct F;"] {
            assert!(graph(&[ROOT, ("a.rs", code), B]).is_empty(), "{code}");
        }
    }

    #[test]
    fn a_glob_of_the_root_uses_all_that_is_public() {
        assert_eq!(graph(&[ROOT, ("a.rs", ""), ("b.rs", "use crate::*;")]), ["b -> a"]);
    }

    #[test]
    fn super_and_self_and_children_are_resolved() {
        let root = ("lib.rs", "mod a;");
        let parent = ("a.rs", "mod b; mod c; pub use b::B; struct A;");
        let uses = |code| graph(&[root, parent, ("a/b.rs", "pub struct B;"), ("a/c.rs", code)]);
        assert_eq!(uses("use super::A;"), ["a -> a::b", "a::c -> a"]);
        assert_eq!(uses("use super::B;"), ["a -> a::b", "a::c -> a::b"]);
        assert_eq!(uses("use super::b;"), ["a -> a::b", "a::c -> a::b"]);
        assert_eq!(uses("use super::*;"), ["a -> a::b", "a::c -> a"]);
        assert_eq!(
            uses("use self::d; mod d { use super::super::b::B; }"),
            ["a -> a::b", "a::c -> a::b"]
        );
    }

    #[test]
    fn tests_use_what_they_like() {
        let root = ("lib.rs", "mod a; mod b; #[cfg(test)] mod oracle;");
        let a = ("a.rs", "#[cfg(test)] mod tests { use crate::b; } #[cfg(test)] mod checks;");
        let others = [("oracle.rs", "use crate::a;"), ("a/checks.rs", "use crate::b;")];
        assert!(
            graph(&[root, a, B, others[0], others[1], ("b/tests.rs", "use crate::a;")]).is_empty()
        );
    }

    #[test]
    fn re_exports_in_a_circle_end() {
        let root = ("lib.rs", "mod a; mod b;");
        assert!(
            graph(&[root, ("a.rs", "pub use crate::b::X;"), ("b.rs", "pub use crate::a::X;")])
                .is_empty()
        );
    }
}
