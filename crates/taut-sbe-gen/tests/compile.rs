//! Every schema becomes a crate and a module that compile without a warning, over the runtime's
//! crate and with a copy of it.

mod support;

use std::path::Path;

use taut_sbe_gen::{Direction, Options, Schema, generate_crate, generate_module};

const CHECK: [&str; 5] = ["--crate-type", "lib", "--emit", "metadata", "-o"];

fn read(path: &Path) -> Schema {
    Schema::read(path).unwrap_or_else(|error| panic!("{error}"))
}

fn check_crate(schema: &Schema, options: &Options) {
    let folder = tempfile::tempdir().expect("folder");
    support::write_crate(schema, options, folder.path());
    let lib = folder.path().join("src/lib.rs");
    let out = folder.path().join("out.rmeta");
    let files = [support::text(&out), "-D", "missing-docs", support::text(&lib)];
    support::rustc(&[&CHECK[..], &files].concat());
}

#[test]
fn every_schema_becomes_a_crate_that_compiles_without_warnings() {
    for path in support::all() {
        let schema = read(&path);
        check_crate(&schema, &Options::default());
        println!("{}: {} messages", path.display(), schema.messages.len());
    }
    check_crate(&read(&support::feed()), &Options::default().stand_alone());
}

fn check_module(schema: &Schema, options: &Options) {
    let folder = tempfile::tempdir().expect("folder");
    let lib = folder.path().join("lib.rs");
    std::fs::write(folder.path().join("sbe.rs"), generate_module(schema, options)).expect("file");
    std::fs::write(&lib, "//! A crate.\n#![forbid(unsafe_code)]\npub mod sbe;\n").expect("file");
    let out = folder.path().join("out.rmeta");
    support::rustc(&[&CHECK[..], &[support::text(&out), support::text(&lib)]].concat());
}

#[test]
fn a_schema_becomes_a_module_that_compiles_without_warnings() {
    // The same code as the crates' in one file: some schemas are enough.
    for path in support::OWN.iter().map(|name| support::own(name)).chain([support::feed()]) {
        for options in support::both_runtimes() {
            check_module(&read(&path), &options);
        }
    }
}

#[test]
fn one_direction_compiles_and_has_nothing_of_the_other() {
    for path in ["odd.xml", "later.xml", "trees.xml"].map(support::own) {
        let schema = read(&path);
        let ways = [(Direction::Decode, "Encoder"), (Direction::Encode, "Decoder")];
        for (direction, other) in ways {
            let options = Options::default().direction(direction);
            check_module(&schema, &options);
            assert!(!generate_module(&schema, &options).contains(other), "{direction:?}");
        }
    }
}

#[test]
fn the_crate_of_a_schema_has_a_name_in_snake_case() {
    let odd = std::fs::read_to_string(support::own("odd.xml")).expect("a schema");
    for (package, name) in [
        ("iLinkBinary", "i_link_binary"),
        ("b3.entrypoint-v5", "b3_entrypoint_v5"),
        ("5x", "sbe_5x"),
        ("_private", "sbe_private"),
        ("MATCH", "sbe_match"),
        ("std", "sbe_std"),
        ("taut.sbe", "sbe_taut_sbe"),
        ("FIXP__Session", "fixp_session"),
        ("état", "sbe_tat"),
    ] {
        let text = odd.replacen("package=\"odd.names\"", &format!("package=\"{package}\""), 1);
        assert_ne!(text, odd);
        let schema = Schema::parse(Path::new("odd.xml"), &text, Path::new(".")).expect("a schema");
        let files = generate_crate(&schema, &Options::default());
        let manifest = &files[Path::new("Cargo.toml")];
        assert!(manifest.contains(&format!("name = \"{name}\"\n")), "{manifest}");
    }
}

#[test]
fn a_schema_behind_a_document_type_becomes_the_same_code() {
    let plain = std::fs::read_to_string(support::own("odd.xml")).expect("a schema");
    let inner = "<!DOCTYPE x:messageSchema [\n<!ELEMENT x:messageSchema ANY>\n\
                 <!ATTLIST x:messageSchema package CDATA #REQUIRED>\n]>\n";
    let outer = "<!DOCTYPE x:messageSchema SYSTEM \"sbe.dtd\">\n";
    let code = |text: &str| {
        let schema = Schema::parse(Path::new("odd.xml"), text, Path::new(".")).expect("a schema");
        generate_crate(&schema, &Options::default())
    };
    for document_type in [inner, outer] {
        let typed =
            plain.replacen("<x:messageSchema", &format!("{document_type}<x:messageSchema"), 1);
        assert_ne!(typed, plain);
        assert_eq!(code(&typed), code(&plain), "{document_type}");
    }
}
