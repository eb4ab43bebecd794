//! What the tests share: schemas from outside the repository, and the compiler.
#![allow(dead_code, reason = "each test uses a part of it")]

pub mod random;

use std::path::{Path, PathBuf};
use std::process::Command;

use taut_sbe_gen::{Schema, generate_crate, generate_module};

/// A file that lies beside the repository; nothing, with a notice, when it is not there.
pub fn shared(path: &str) -> Option<PathBuf> {
    let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared")).join(path);
    if path.exists() {
        return Some(path);
    }
    println!("skipped: {} is not there", path.display());
    None
}

/// The schemas of venues and the reference's example.
pub const SCHEMAS: &[&str] = &[
    "schemas/b3-entrypoint-v5.xml",
    "schemas/cme-mdp3-v9.xml",
    "schemas/spot-fixsbe-1_1.xml",
    "schemas/spot_3_5.xml",
    "schemas/stream_1_0.xml",
    "sbe/example-schema.xml",
    "sbe/example-extension-schema.xml",
];

/// A schema of the tests.
pub fn own(name: &str) -> PathBuf {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/schemas")).join(name)
}

/// Schemas of the tests that are right.
pub const OWN: &[&str] =
    &["odd.xml", "big.xml", "numbers.xml", "sizes.xml", "later.xml", "words.xml", "trees.xml"];

/// The schema of taut's own market data.
pub fn feed() -> PathBuf {
    Path::new(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../taut-market-data/schema/taut-market-data.xml"
    ))
    .into()
}

/// All schemas that are there.
pub fn all() -> Vec<PathBuf> {
    let outside = SCHEMAS.iter().filter_map(|path| shared(path));
    outside.chain(OWN.iter().map(|name| own(name))).chain([feed()]).collect()
}

/// Writes the crate that is generated from a schema.
pub fn write_crate(schema: &Schema, folder: &Path) {
    for (path, text) in generate_crate(schema, &[]) {
        let path = folder.join(path);
        std::fs::create_dir_all(path.parent().expect("a file has a folder")).expect("folder");
        std::fs::write(path, text).expect("file");
    }
}

/// Runs the compiler and panics with what it says.
pub fn rustc(arguments: &[&str]) {
    let output = Command::new(std::env::var("RUSTC").unwrap_or_else(|_| "rustc".into()))
        .args(["--edition", "2024", "-D", "warnings"])
        .args(arguments)
        .output()
        .expect("the compiler runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "{arguments:?}: {}",
        said.chars().take(6_000).collect::<String>()
    );
}

/// Compiles a program whose module `sbe` is generated from a schema.
pub fn program(schema: &Schema, main: &str, folder: &Path) -> PathBuf {
    std::fs::write(folder.join("sbe.rs"), generate_module(schema, &[])).expect("file");
    let source = folder.join("main.rs");
    std::fs::write(&source, format!("mod sbe;\n{main}")).expect("file");
    let binary = folder.join("program");
    rustc(&[text(&source), "-O", "-C", "debug-assertions=on", "-o", text(&binary)]);
    binary
}

pub fn text(path: &Path) -> &str {
    path.to_str().expect("the path is text")
}
