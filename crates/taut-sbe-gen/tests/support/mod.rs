//! What the tests share: schemas from outside the repository, and the compiler.
#![allow(dead_code, reason = "each test uses a part of it")]

pub mod random;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use taut_sbe_gen::{DynamicMessage, Options, Schema, Value, generate_crate, generate_module};
use tempfile::TempDir;

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
pub const OWN: &[&str] = &[
    "odd.xml",
    "big.xml",
    "numbers.xml",
    "sizes.xml",
    "later.xml",
    "words.xml",
    "trees.xml",
    "offsets.xml",
    "constants.xml",
    "charsets.xml",
];

/// A message of `charsets.xml`: two characters in each field, one in data.
pub fn texts() -> DynamicMessage {
    let text = |text: &str| Value::Text(text.to_owned());
    let record = |items: &[(&str, Value)]| {
        let named = items.iter().map(|(name, value)| ((*name).to_owned(), value.clone()));
        Value::Record(named.collect())
    };
    let names = [("korean", text("b0a1b3aa0000")), ("chinese", text("d6d0cec400000000"))];
    let fields = [
        ("chinese", text("d6d0cec400000000")),
        ("japanese", text("93fa967b00000000")),
        ("latin", text("né")),
        ("euro", text("80310000")),
        ("wide", text("4e2d658700000000")),
        ("names", record(&names)),
        ("chineseData", text("d6d0")),
        ("wideData", text("4e2d")),
    ];
    DynamicMessage {
        message: "Texts".to_owned(),
        template: 1,
        version: 0,
        block_length: None,
        header: Vec::new(),
        fields: record(&fields),
    }
}

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

/// Over the crate of the runtime, and with a copy of it.
pub fn both_runtimes() -> [Options; 2] {
    [Options::default(), Options::default().stand_alone()]
}

/// Writes the crate that is generated from a schema.
pub fn write_crate(schema: &Schema, options: &Options, folder: &Path) {
    for (path, text) in generate_crate(schema, options) {
        let path = folder.join(path);
        std::fs::create_dir_all(path.parent().expect("a file has a folder")).expect("folder");
        std::fs::write(path, text).expect("file");
    }
}

/// Runs the compiler, which knows the runtime, and panics with what it says.
pub fn rustc(arguments: &[&str]) {
    let known = format!("taut_sbe={}", text(runtime()));
    compile(&[&["-D", "warnings", "--extern", &known], arguments].concat());
}

/// The compiled runtime.
fn runtime() -> &'static Path {
    static RUNTIME: OnceLock<(TempDir, PathBuf)> = OnceLock::new();
    let (_, library) = RUNTIME.get_or_init(|| {
        let folder = tempfile::tempdir().expect("folder");
        let library = folder.path().join("libtaut_sbe.rlib");
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/../taut-sbe/src/lib.rs");
        let options = ["--crate-type", "rlib", "--crate-name", "taut_sbe", "-O", "-o"];
        compile(&[&options[..], &[text(&library), source]].concat());
        (folder, library)
    });
    library
}

fn compile(arguments: &[&str]) {
    let output = Command::new(std::env::var("RUSTC").unwrap_or_else(|_| "rustc".into()))
        .args(["--edition", "2024"])
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
pub fn program(schema: &Schema, options: &Options, main: &str, folder: &Path) -> PathBuf {
    std::fs::write(folder.join("sbe.rs"), generate_module(schema, options)).expect("file");
    let source = folder.join("main.rs");
    std::fs::write(&source, format!("mod sbe;\n{main}")).expect("file");
    let binary = folder.join("program");
    rustc(&[text(&source), "-O", "-C", "debug-assertions=on", "-o", text(&binary)]);
    binary
}

pub fn text(path: &Path) -> &str {
    path.to_str().expect("the path is text")
}
