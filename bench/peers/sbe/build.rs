//! Generates taut's codec of the same schema.

use std::path::{Path, PathBuf};

fn main() {
    let schema = Path::new("../../../../shared/schemas/stream_1_0.xml");
    println!("cargo::rerun-if-changed={}", schema.display());
    let schema = taut_sbe_gen::Schema::read(schema).unwrap_or_else(|error| panic!("{error}"));
    let out: PathBuf = std::env::var_os("OUT_DIR").expect("cargo sets it").into();
    let module = taut_sbe_gen::generate_module(&schema, &taut_sbe_gen::Options::default());
    std::fs::write(out.join("stream.rs"), module).expect("file");
}
