//! The machine code of the hot messages has no way to a panic.

mod support;

use std::path::Path;

use taut_sbe_gen::{Schema, generate_module};

/// The lines of a library's assembly that lead to a panic. Functions that are not inlined and
/// public are compiled, and what they reach.
fn ways_to_panic(source: &Path, functions: &[&str]) -> Vec<String> {
    let assembly = source.with_extension("s");
    let options = ["-O", "-C", "codegen-units=1", "--crate-type", "lib", "--emit", "asm", "-o"];
    let files = [support::text(&assembly), support::text(source)];
    support::rustc(&[&options[..], &files].concat());
    let assembly = std::fs::read_to_string(assembly).expect("assembly");
    for function in functions {
        assert!(assembly.contains(function), "{function} is not there");
    }
    let lines = assembly.lines().filter(|line| !line.trim_start().starts_with('.'));
    lines.filter(|line| line.contains("panic")).map(str::to_owned).collect()
}

#[test]
fn hot_messages_compile_to_code_without_a_panic() {
    let Some(path) = support::shared("schemas/stream_1_0.xml") else { return };
    let schema = Schema::read(&path).unwrap_or_else(|error| panic!("{error}"));
    let functions = include_str!("programs/panic_free.rs");
    let names = [
        "decode_best",
        "decode_depth",
        "decode_snapshot",
        "decode_trades",
        "decode_any",
        "encode_depth",
    ];
    for options in support::both_runtimes() {
        let folder = tempfile::tempdir().expect("folder");
        let source = folder.path().join("hot.rs");
        let module = generate_module(&schema, &options);
        std::fs::write(folder.path().join("sbe.rs"), module).expect("file");
        std::fs::write(&source, format!("mod sbe;\n{functions}")).expect("file");
        let ways = ways_to_panic(&source, &names);
        assert!(ways.is_empty(), "{ways:#?}");
    }
}

#[test]
fn a_careless_function_is_found() {
    let folder = tempfile::tempdir().expect("folder");
    let source = folder.path().join("careless.rs");
    let text = "#[inline(never)]\npub fn careless(bytes: &[u8]) -> u8 {\n    bytes[3]\n}\n";
    std::fs::write(&source, text).expect("file");
    assert!(!ways_to_panic(&source, &["careless"]).is_empty());
}
