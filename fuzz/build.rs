//! The decoders of the odd shapes: generated from the schemas of taut-sbe-gen's tests.

use std::path::Path;

use taut_sbe_gen::{Schema, generate_module};

fn main() {
    let out = std::env::var("OUT_DIR").expect("cargo sets it");
    for name in ["odd", "big"] {
        let schema = format!("../crates/taut-sbe-gen/tests/schemas/{name}.xml");
        println!("cargo:rerun-if-changed={schema}");
        let schema = Schema::read(Path::new(&schema)).expect("a schema");
        let module = Path::new(&out).join(format!("{name}.rs"));
        std::fs::write(module, generate_module(&schema, &[])).expect("the module is written");
    }
}
