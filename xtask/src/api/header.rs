//! Items without what their users do not see.

use syn::punctuated::Punctuated;
use syn::{Attribute, Expr, Field, Fields, ImplItem, Item, TraitItem, Type, parse_quote};

use super::modules::{is_public, name, self_name};

/// The text of these items, by name.
pub fn text(mut items: Vec<Item>) -> String {
    strip(&mut items);
    prettyplease::unparse(&syn::File { shebang: None, attrs: Vec::new(), items })
}

fn strip(items: &mut Vec<Item>) {
    items.iter_mut().for_each(strip_item);
    let text = |item: &Item| {
        let items = vec![item.clone()];
        prettyplease::unparse(&syn::File { shebang: None, attrs: Vec::new(), items })
    };
    items.sort_by_cached_key(|item| (found_by(item), order(item), text(item)));
    items.dedup();
}

/// The type that an implementation is for stands before it.
fn order(item: &Item) -> u8 {
    u8::from(matches!(item, Item::Impl(_)))
}

/// The name by which an item is found: its own, or that of the type that it is for.
fn found_by(item: &Item) -> String {
    match item {
        Item::Impl(item) => self_name(item).unwrap_or_default(),
        item => name(item).unwrap_or_default(),
    }
}

fn strip_item(item: &mut Item) {
    let nothing: Expr = parse_quote!(_);
    match item {
        Item::Const(item) => (*item.expr, item.attrs) = (nothing, kept(&item.attrs)),
        Item::Static(item) => (*item.expr, item.attrs) = (nothing, kept(&item.attrs)),
        Item::Fn(item) => (*item.block, item.attrs) = (parse_quote!({}), kept(&item.attrs)),
        Item::Type(item) => item.attrs = kept(&item.attrs),
        Item::Use(item) => item.attrs = kept(&item.attrs),
        Item::Macro(item) => item.mac.tokens = parse_quote!(() => {};),
        Item::Mod(item) => {
            item.attrs = kept(&item.attrs);
            if let Some((_, items)) = &mut item.content {
                strip(items);
            }
        }
        Item::Struct(item) => {
            item.attrs = kept(&item.attrs);
            strip_fields(&mut item.fields, true);
        }
        Item::Union(item) => item.attrs = kept(&item.attrs),
        Item::Enum(item) => {
            item.attrs = kept(&item.attrs);
            for variant in &mut item.variants {
                variant.attrs = kept(&variant.attrs);
                strip_fields(&mut variant.fields, false);
            }
        }
        Item::Trait(item) => {
            item.attrs = kept(&item.attrs);
            for item in &mut item.items {
                match item {
                    TraitItem::Fn(item) => {
                        item.attrs = kept(&item.attrs);
                        item.default = item.default.as_ref().map(|_| parse_quote!({}));
                    }
                    TraitItem::Const(item) => item.attrs = kept(&item.attrs),
                    TraitItem::Type(item) => item.attrs = kept(&item.attrs),
                    _ => {}
                }
            }
        }
        Item::Impl(item) => {
            item.attrs = kept(&item.attrs);
            let of_trait = item.trait_.is_some();
            item.items.retain(|item| match item {
                ImplItem::Fn(item) => !of_trait && is_public(&item.vis),
                ImplItem::Const(item) => !of_trait && is_public(&item.vis),
                ImplItem::Type(_) => of_trait,
                _ => false,
            });
            for item in &mut item.items {
                match item {
                    ImplItem::Fn(item) => {
                        (item.block, item.attrs) = (parse_quote!({}), kept(&item.attrs));
                    }
                    ImplItem::Const(item) => {
                        (item.expr, item.attrs) = (nothing.clone(), kept(&item.attrs));
                    }
                    _ => {}
                }
            }
        }
        _ => {}
    }
}

/// Takes private fields away, and says that there are some.
fn strip_fields(fields: &mut Fields, of_struct: bool) {
    let is_kept = |field: &Field| !of_struct || is_public(&field.vis);
    let strip = |mut field: Field| {
        field.attrs = Vec::new();
        field
    };
    match fields {
        Fields::Named(named) => {
            let (kept, private): (Vec<Field>, Vec<Field>) =
                named.named.iter().cloned().map(strip).partition(is_kept);
            named.named = kept.into_iter().collect();
            if !private.is_empty() {
                named.named.push(parse_quote!(private: _));
            }
        }
        Fields::Unnamed(unnamed) => {
            let hide = |field: Field| {
                let ty: Type = if is_kept(&field) { field.ty.clone() } else { parse_quote!(_) };
                Field { ty, ..strip(field) }
            };
            let fields: Punctuated<Field, _> = unnamed.unnamed.iter().cloned().map(hide).collect();
            unnamed.unnamed = fields;
        }
        Fields::Unit => {}
    }
}

/// The attributes that a user has to know.
fn kept(attributes: &[Attribute]) -> Vec<Attribute> {
    const KEPT: &[&str] = &["derive", "macro_export", "must_use", "non_exhaustive", "repr"];
    let is_kept = |attribute: &&Attribute| KEPT.iter().any(|name| attribute.path().is_ident(name));
    attributes.iter().filter(is_kept).cloned().collect()
}
