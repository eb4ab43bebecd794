//! The machine code of the hot messages has no way to a panic.

mod support;

use taut_sbe_gen::{Schema, generate_module};

#[test]
fn hot_messages_compile_to_code_without_a_panic() {
    let Some(path) = support::shared("schemas/stream_1_0.xml") else { return };
    let schema = Schema::read(&path).unwrap_or_else(|error| panic!("{error}"));
    let folder = tempfile::tempdir().expect("folder");
    let [source, assembly] = ["main.rs", "main.s"].map(|name| folder.path().join(name));
    std::fs::write(folder.path().join("sbe.rs"), generate_module(&schema, &[])).expect("file");
    let functions = include_str!("programs/panic_free.rs");
    // Only what the functions reach is compiled: nothing of the module is exported.
    std::fs::write(&source, format!("mod sbe;\n{functions}")).expect("file");
    let options = ["-O", "-C", "codegen-units=1", "--crate-type", "staticlib", "--emit", "asm"];
    support::rustc(
        &[&options[..], &[support::text(&source), "-o", support::text(&assembly)]].concat(),
    );
    let assembly = std::fs::read_to_string(assembly).expect("assembly");
    for function in
        ["decode_best", "decode_depth", "decode_snapshot", "decode_trades", "decode_any"]
    {
        assert!(assembly.contains(&format!("{function}:")), "{function} is not there");
    }
    let lines = assembly.lines().filter(|line| !line.trim_start().starts_with('.'));
    let ways: Vec<_> =
        lines.filter(|line| line.contains("panic") || line.contains("slice_index")).collect();
    assert!(ways.is_empty(), "{ways:#?}");
}
