//! The codecs: each schema becomes a module, of which `src` includes what it needs.

use std::path::Path;

use taut_sbe_gen::{Direction, Options, Schema, generate_module};

/// Schema, file of the module, and what of it is used.
const CODECS: [(&str, &str, Direction); 3] = [
    ("schema/taut-market-data.xml", "native.rs", Direction::Both),
    ("schema/binance-spot-stream.xml", "binance_stream.rs", Direction::Decode),
    ("schema/cme-mdp3.xml", "mdp3.rs", Direction::Decode),
];

fn main() {
    let folder = std::env::var_os("OUT_DIR").expect("cargo says where");
    for (schema, module, direction) in CODECS {
        println!("cargo::rerun-if-changed={schema}");
        let schema = Schema::read(Path::new(schema)).unwrap_or_else(|error| panic!("{error}"));
        let source = generate_module(&schema, &Options::default().direction(direction));
        std::fs::write(Path::new(&folder).join(module), source).expect("the module is written");
    }
}
