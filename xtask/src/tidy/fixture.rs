//! A small house that keeps every law, for tests to break.

use super::house::House;
use super::law::Law;
use super::tree::Tree;

const ROOT: &str = r#"[workspace]
members = ["crates/*", "xtask"]

[workspace.dependencies]
taut-types = { path = "crates/taut-types" }
taut-simd = { path = "crates/taut-simd" }
serde = "1"
"#;

const README: &str = "# taut

```sh
cargo run -- demo
```

taut-types, taut-simd, taut-fix
";

const TYPES: &str = "//! Nouns.
#![no_std]
#![forbid(unsafe_code)]

#[cfg(test)]
extern crate std;

mod nanos;
mod price;

pub use nanos::Nanos;
pub use price::Price;
";

const PRICE: &str = "//! Prices.

use crate::Nanos;

/// A price.
pub struct Price(pub Nanos);

#[cfg(test)]
mod tests {
    use super::Price;
}
";

const RING: &str = "//! Rings.

/// Reads.
///
/// # Safety
/// `at` is valid.
pub unsafe fn read(at: *const u8) -> u8 {
    // SAFETY: the caller promises that it is valid.
    unsafe { *at }
}
";

const FIX: &str = "//! A codec.
#![no_std]
#![forbid(unsafe_code)]
#![deny(clippy::indexing_slicing, clippy::panic)]
";

/// A manifest of this house; `dependencies` are whole lines.
pub fn manifest(
    name: &str,
    layer: u8,
    pure: bool,
    may_be_unsafe: bool,
    dependencies: &str,
) -> String {
    format!(
        r#"[package]
name = "{name}"
edition.workspace = true
rust-version.workspace = true
license.workspace = true

[package.metadata.taut]
layer = {layer}
pure = {pure}
unsafe = {may_be_unsafe}

[lints]
workspace = true

[dependencies]
{dependencies}
"#
    )
}

/// A tree that keeps every law.
pub fn house() -> Tree {
    let mut tree = Tree::default();
    let types = manifest("taut-types", 0, true, false, "");
    let ring = manifest("taut-simd", 1, false, true, "taut-types.workspace = true");
    let fix = manifest("taut-fix", 2, true, false, "taut-types.workspace = true");
    let xtask = manifest("xtask", 9, false, false, "serde.workspace = true");
    let files = [
        ("Cargo.toml", ROOT),
        ("README.md", README),
        ("ARCHITECTURE.md", "taut-types taut-simd taut-fix\n"),
        ("crates/taut-types/Cargo.toml", &types),
        ("crates/taut-types/src/lib.rs", TYPES),
        (
            "crates/taut-types/src/nanos.rs",
            "//! Times.\n\n/// A time.\npub struct Nanos(pub i64);\n",
        ),
        ("crates/taut-types/src/price.rs", PRICE),
        ("crates/taut-simd/Cargo.toml", &ring),
        ("crates/taut-simd/src/lib.rs", RING),
        ("crates/taut-fix/Cargo.toml", &fix),
        ("crates/taut-fix/src/lib.rs", FIX),
        ("xtask/Cargo.toml", &xtask),
        ("xtask/src/main.rs", "//! Tools.\n#![forbid(unsafe_code)]\nfn main() {}\n"),
    ];
    for (path, text) in files {
        tree.insert(path, text.into());
    }
    let others = ["BENCHMARKS.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"];
    for path in others.into_iter().chain(["LICENSE-MIT", "LICENSE-APACHE"]) {
        tree.insert(path, b"Text.\n".to_vec());
    }
    tree
}

/// The house with these files added or replaced.
pub fn with(files: &[(&str, &str)]) -> Tree {
    let mut tree = house();
    for (path, text) in files {
        tree.insert(path, (*text).into());
    }
    tree
}

/// What `law` says about `tree`.
pub fn check(law: &Law, tree: &Tree) -> Vec<String> {
    law.violations(&House::new(tree))
}

/// Asserts that the house keeps `law`, and that with these files it has exactly one violation,
/// which begins with `path:line: law: ` and contains `what`.
#[track_caller]
pub fn assert_broken(law: &Law, files: &[(&str, &str)], place: &str, what: &str) {
    assert_eq!(check(law, &house()), Vec::<String>::new());
    let violations = check(law, &with(files));
    assert_eq!(violations.len(), 1, "{violations:#?}");
    let head = format!("{place}: {}: ", law.name);
    assert!(violations[0].starts_with(&head), "{} is not at {head}", violations[0]);
    assert!(violations[0].contains(what), "{} does not say {what}", violations[0]);
}

/// Asserts that the house with these files still keeps `law`.
#[track_caller]
pub fn assert_kept(law: &Law, files: &[(&str, &str)]) {
    assert_eq!(check(law, &with(files)), Vec::<String>::new());
}
