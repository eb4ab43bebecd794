//! The modules of a crate with their items, and where a `pub use` leads.

use std::collections::BTreeMap;

use syn::{Ident, Item, ItemImpl, Type, UseTree, Visibility, parse_quote};

use crate::tidy::{House, Package, module_name};

type Name = Vec<String>;
/// Re-exports of re-exports that are followed.
const HOPS_MAX: usize = 16;

/// All modules by their path from the root.
pub struct Modules {
    all: BTreeMap<Name, Vec<Item>>,
}

/// A leaf of a `use`: the path, and the name that it gets; `*` is a glob.
struct Leaf {
    path: Name,
    name: String,
}

impl Modules {
    /// Reads a package's sources.
    pub fn of(house: &House<'_>, package: &Package<'_>) -> Result<Self, String> {
        let mut modules = Self { all: BTreeMap::new() };
        let src = package.file("src/");
        for (path, source) in house.sources_of(package) {
            let Some(name) = path.strip_prefix(&src).and_then(module_name) else { continue };
            let file = syn::parse2::<syn::File>(source.shipped.clone());
            modules.add(name, file.map_err(|error| format!("{path}: {error}"))?.items);
        }
        Ok(modules)
    }

    /// What the root offers.
    pub fn public(&self) -> Vec<Item> {
        let mut items = Vec::new();
        self.collect(&Name::new(), &mut items, HOPS_MAX);
        let macros = self.all.values().flatten().filter(|item| match item {
            Item::Macro(item) => item.attrs.iter().any(|a| a.path().is_ident("macro_export")),
            _ => false,
        });
        items.extend(macros.cloned());
        items
    }

    /// Adds a module, and those that stand in it with braces.
    fn add(&mut self, name: Name, items: Vec<Item>) {
        for item in &items {
            if let Item::Mod(inner) = item
                && let Some((_, inside)) = &inner.content
            {
                self.add([&name[..], &[inner.ident.to_string()]].concat(), inside.clone());
            }
        }
        self.all.entry(name).or_default().extend(items);
    }

    /// Collects what a module offers, each type with what is implemented for it.
    fn collect(&self, at: &Name, found: &mut Vec<Item>, hops: usize) {
        for item in self.all.get(at).into_iter().flatten() {
            match item {
                Item::Use(item) if is_public(&item.vis) && hops > 0 => {
                    for leaf in leaves(&item.tree) {
                        self.follow(at, &leaf, found, hops - 1);
                    }
                }
                Item::Mod(item) if is_public(&item.vis) => {
                    let mut items = Vec::new();
                    let inner = [&at[..], &[item.ident.to_string()]].concat();
                    self.collect(&inner, &mut items, hops);
                    let ident = &item.ident;
                    found.push(parse_quote!(pub mod #ident { #(#items)* }));
                }
                Item::Use(_) | Item::Mod(_) => {}
                item if parts(item).is_some_and(|(_, visibility)| is_public(visibility)) => {
                    self.define(at, item, None, found)
                }
                _ => {}
            }
        }
    }

    /// Collects what a leaf of a `pub use` in module `at` names.
    fn follow(&self, at: &Name, leaf: &Leaf, found: &mut Vec<Item>, hops: usize) {
        let count = found.len();
        if let Some(target) = self.absolute(at, &leaf.path) {
            if leaf.name == "*" {
                return self.collect(&target[..target.len() - 1].to_vec(), found, hops);
            }
            self.find(&target, &leaf.name, found, hops);
        }
        if found.len() == count {
            // Another crate's, a module, or what a macro makes.
            let path: syn::Path = syn::parse_str(&leaf.path.join("::")).unwrap_or_else(|_| {
                let name = Ident::new("unknown", proc_macro2::Span::call_site());
                parse_quote!(#name)
            });
            let name = Ident::new(&leaf.name.replace('*', "glob"), proc_macro2::Span::call_site());
            found.push(match leaf.path.last() {
                Some(last) if *last == leaf.name => parse_quote!(pub use #path;),
                _ => parse_quote!(pub use #path as #name;),
            });
        }
    }

    /// Collects the item at an absolute path under the name that it gets.
    fn find(&self, target: &[String], name: &str, found: &mut Vec<Item>, hops: usize) {
        let Some((item_name, module)) = target.split_last() else { return };
        let module = module.to_vec();
        for item in self.all.get(&module).into_iter().flatten() {
            match item {
                Item::Use(item) if hops > 0 => {
                    let named = |leaf: &Leaf| leaf.name == *item_name || leaf.name == "*";
                    for leaf in leaves(&item.tree).into_iter().filter(named) {
                        let Some(mut target) = self.absolute(&module, &leaf.path) else { continue };
                        if leaf.name == "*" {
                            target.pop();
                            target.push(item_name.clone());
                        }
                        self.find(&target, name, found, hops - 1);
                    }
                }
                Item::Mod(item) if item.ident == item_name => {}
                item if self::name(item).as_deref() == Some(item_name) => {
                    self.define(&module, item, Some(name), found);
                }
                _ => {}
            }
        }
    }

    /// Collects an item of a module and its implementations.
    fn define(&self, at: &Name, item: &Item, new_name: Option<&str>, found: &mut Vec<Item>) {
        let mut named = item.clone();
        if let (Some(ident), Some(name)) = (ident_mut(&mut named), new_name) {
            *ident = Ident::new(name, proc_macro2::Span::call_site());
        }
        found.push(named);
        if !matches!(item, Item::Struct(_) | Item::Enum(_) | Item::Union(_)) {
            return;
        }
        let own = name(item);
        let defines = |module: &Name| {
            let items = self.all.get(module).into_iter().flatten();
            module != at && items.into_iter().any(|item| name(item) == own)
        };
        for (_, items) in self.all.iter().filter(|(module, _)| !defines(module)) {
            found.extend(
                items
                    .iter()
                    .filter(|item| match item {
                        Item::Impl(item) => self_name(item) == own && shows(item),
                        _ => false,
                    })
                    .cloned(),
            );
        }
    }

    /// The path from the root of what `path` in module `at` names; none when it leaves the crate.
    fn absolute(&self, at: &Name, path: &[String]) -> Option<Name> {
        let mut base = at.clone();
        let mut rest = path;
        match rest.first()?.as_str() {
            "crate" => (base, rest) = (Name::new(), &rest[1..]),
            "self" => rest = &rest[1..],
            "super" => {}
            first => {
                let is = |item: &Item| name(item).as_deref() == Some(first);
                let child = [&base[..], &[first.to_owned()]].concat();
                let here = self.all.get(&base).is_some_and(|items| items.iter().any(is));
                if !self.all.contains_key(&child) && !here {
                    return None;
                }
            }
        }
        while rest.first().is_some_and(|first| first == "super") {
            base.pop()?;
            rest = &rest[1..];
        }
        Some([&base[..], rest].concat())
    }
}

/// Whether an implementation tells its users anything.
fn shows(item: &ItemImpl) -> bool {
    item.trait_.is_some()
        || item.items.iter().any(|item| match item {
            syn::ImplItem::Fn(item) => is_public(&item.vis),
            syn::ImplItem::Const(item) => is_public(&item.vis),
            _ => false,
        })
}

/// The name of the type that an implementation is for.
pub fn self_name(item: &ItemImpl) -> Option<String> {
    let mut ty = &*item.self_ty;
    while let Type::Reference(reference) = ty {
        ty = &reference.elem;
    }
    let Type::Path(path) = ty else { return None };
    path.path.segments.last().map(|last| last.ident.to_string())
}

/// The name of an item.
pub fn name(item: &Item) -> Option<String> {
    match item {
        Item::Macro(item) => item.ident.as_ref().map(ToString::to_string),
        Item::Mod(item) => Some(item.ident.to_string()),
        item => parts(item).map(|(name, _)| name.to_string()),
    }
}

/// The name of an item that others may use, and who may.
fn parts(item: &Item) -> Option<(&Ident, &Visibility)> {
    match item {
        Item::Const(item) => Some((&item.ident, &item.vis)),
        Item::Enum(item) => Some((&item.ident, &item.vis)),
        Item::Fn(item) => Some((&item.sig.ident, &item.vis)),
        Item::Static(item) => Some((&item.ident, &item.vis)),
        Item::Struct(item) => Some((&item.ident, &item.vis)),
        Item::Trait(item) => Some((&item.ident, &item.vis)),
        Item::Type(item) => Some((&item.ident, &item.vis)),
        Item::Union(item) => Some((&item.ident, &item.vis)),
        _ => None,
    }
}

fn ident_mut(item: &mut Item) -> Option<&mut Ident> {
    match item {
        Item::Const(item) => Some(&mut item.ident),
        Item::Enum(item) => Some(&mut item.ident),
        Item::Fn(item) => Some(&mut item.sig.ident),
        Item::Static(item) => Some(&mut item.ident),
        Item::Struct(item) => Some(&mut item.ident),
        Item::Trait(item) => Some(&mut item.ident),
        Item::Type(item) => Some(&mut item.ident),
        Item::Union(item) => Some(&mut item.ident),
        _ => None,
    }
}

/// Whether everybody sees it.
pub fn is_public(visibility: &Visibility) -> bool {
    matches!(visibility, Visibility::Public(_))
}

fn leaves(tree: &UseTree) -> Vec<Leaf> {
    let mut found = Vec::new();
    add_leaves(tree, Name::new(), &mut found);
    found
}

fn add_leaves(tree: &UseTree, mut path: Name, found: &mut Vec<Leaf>) {
    match tree {
        UseTree::Path(inner) => {
            path.push(inner.ident.to_string());
            add_leaves(&inner.tree, path, found);
        }
        UseTree::Group(group) => {
            group.items.iter().for_each(|tree| add_leaves(tree, path.clone(), found));
        }
        UseTree::Name(name) => {
            let name = name.ident.to_string();
            path.extend((name != "self").then(|| name.clone()));
            let name = path.last().cloned().unwrap_or(name);
            found.push(Leaf { path, name });
        }
        UseTree::Rename(renamed) => {
            path.push(renamed.ident.to_string());
            found.push(Leaf { path, name: renamed.rename.to_string() });
        }
        UseTree::Glob(_) => {
            path.push("*".to_owned());
            found.push(Leaf { path, name: "*".to_owned() });
        }
    }
}
