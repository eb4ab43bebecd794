//! The decoders of the odd shapes: generated from the schemas of taut-sbe-gen's tests.
//!
//! | Shape | Target |
//! |---|---|
//! | a fixed block only; no field at all; constants only | `sbe_numbers`, `sbe_odd`, `sbe_trees` |
//! | every primitive: optional, own null, constant, array, char array of one | `sbe_numbers` |
//! | a header of its own, with members that taut does not know | `sbe_odd`, `sbe_big` |
//! | dimensions of 8, 16, 32 and 64 bits, with extra members | `sbe_odd`, `sbe_big`, `sbe_words` |
//! | groups in groups, with data in them | `sbe_odd`, `sbe_later`, `sbe_words` |
//! | all pairs of dimensions in one message; lengths of data of every width | `sbe_sizes` |
//! | lengths of data of 8, 16 and 64 bits | `sbe_words`, `sbe_later`, `sbe_odd` |
//! | older and newer senders: fields, groups, data | `sbe_later`, `sbe_odd`, `sbe_big` |
//! | big endian | `sbe_big`, `sbe_later` |
//! | enums and sets of every width, constant references, composites with refs | `sbe_trees` |
//! | names that Rust has for itself | `sbe_words` |
//! | the codecs of taut-market-data | `feed_packet`, `binance_stream`, `mdp3_packet` |
//!
//! `sbe_numbers` gives mutated inputs right headers: from nothing, the others find theirs.

use std::path::Path;

use taut_sbe_gen::{Options, Schema, generate_module};

fn main() {
    let out = std::env::var("OUT_DIR").expect("cargo sets it");
    for name in ["odd", "big", "numbers", "later", "words", "trees", "sizes"] {
        let schema = format!("../crates/taut-sbe-gen/tests/schemas/{name}.xml");
        println!("cargo:rerun-if-changed={schema}");
        let schema = Schema::read(Path::new(&schema)).expect("a schema");
        let module = Path::new(&out).join(format!("{name}.rs"));
        let source = generate_module(&schema, &Options::default());
        std::fs::write(module, source).expect("the module is written");
    }
}
