//! Every schema becomes a crate and a module that compile without a warning.

mod support;

use taut_sbe_gen::{Schema, generate_module};

#[test]
fn every_schema_becomes_a_crate_that_compiles_without_warnings() {
    for path in support::all() {
        let schema = Schema::read(&path).unwrap_or_else(|error| panic!("{error}"));
        let folder = tempfile::tempdir().expect("folder");
        support::write_crate(&schema, folder.path());
        let lib = folder.path().join("src/lib.rs");
        let metadata = ["--crate-type", "lib", "--emit", "metadata", "-D", "missing-docs"];
        let out = folder.path().join("out.rmeta");
        let arguments = [support::text(&lib), "-o", support::text(&out)];
        support::rustc(&[&metadata[..], &arguments].concat());
        println!("{}: {} messages", path.display(), schema.messages.len());
    }
}

#[test]
fn a_schema_becomes_a_module_that_compiles_without_warnings() {
    // The same code as the crates' in one file: some schemas are enough.
    for path in support::OWN.iter().map(|name| support::own(name)).chain([support::feed()]) {
        let schema = Schema::read(&path).unwrap_or_else(|error| panic!("{error}"));
        let folder = tempfile::tempdir().expect("folder");
        let lib = folder.path().join("lib.rs");
        std::fs::write(folder.path().join("sbe.rs"), generate_module(&schema, &[])).expect("file");
        std::fs::write(&lib, "//! A crate.\n#![forbid(unsafe_code)]\npub mod sbe;\n")
            .expect("file");
        let out = folder.path().join("out.rmeta");
        let arguments = ["--crate-type", "lib", "--emit", "metadata", support::text(&lib), "-o"];
        support::rustc(&[&arguments[..], &[support::text(&out)]].concat());
    }
}
