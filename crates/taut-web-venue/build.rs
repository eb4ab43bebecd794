//! The encoders of Binance's SBE streams, from the schema by which they are read.

use std::path::Path;

use taut_sbe_gen::{Direction, Options, Schema, generate_module};

const SCHEMA: &str = "../taut-market-data/schema/binance-spot-stream.xml";

fn main() {
    let folder = std::env::var_os("OUT_DIR").expect("cargo says where");
    println!("cargo::rerun-if-changed={SCHEMA}");
    let schema = Schema::read(Path::new(SCHEMA)).unwrap_or_else(|error| panic!("{error}"));
    let source = generate_module(&schema, &Options::default().direction(Direction::Encode));
    std::fs::write(Path::new(&folder).join("binance_stream.rs"), source)
        .expect("the module is written");
}
