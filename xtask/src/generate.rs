//! `cargo xtask gen`: the modules that are generated from a schema and checked in.

use std::fs;
use std::path::Path;

use taut_sbe_gen::{Schema, generate_module};

/// Schema and module of each codec, from the repository's root.
const CODECS: &[(&str, &str)] = &[
    (
        "crates/taut-market-data/schema/taut-market-data.xml",
        "crates/taut-market-data/src/native/codec.rs",
    ),
    (
        "crates/taut-market-data/schema/binance-spot-stream.xml",
        "crates/taut-market-data/src/binance/stream_codec.rs",
    ),
    ("crates/taut-market-data/schema/cme-mdp3.xml", "crates/taut-market-data/src/mdp3/codec.rs"),
];

/// Writes every module that is not what its schema says, and returns their paths.
///
/// # Errors
/// In words, with the file at fault.
pub fn write(root: &Path) -> Result<Vec<&'static str>, String> {
    let stale = stale(root)?;
    for (module, source) in &stale {
        fs::write(root.join(module), source).map_err(|error| format!("{module}: {error}"))?;
    }
    Ok(stale.into_iter().map(|(module, _)| module).collect())
}

/// The modules that are not what their schemas say, with what they should be.
fn stale(root: &Path) -> Result<Vec<(&'static str, String)>, String> {
    let mut stale = Vec::new();
    for (schema, module) in CODECS {
        let read = Schema::read(&root.join(schema)).map_err(|error| error.to_string())?;
        let source = generate_module(&read, &[]);
        let source = format!("// size: generated from {schema} by `cargo xtask gen`.\n{source}");
        if fs::read_to_string(root.join(module)).ok().as_ref() != Some(&source) {
            stale.push((*module, source));
        }
    }
    Ok(stale)
}

#[cfg(test)]
mod tests {
    use super::stale;
    use std::path::Path;

    #[test]
    fn the_generated_modules_are_what_their_schemas_say() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let stale = stale(&root).expect("readable schemas");
        let stale: Vec<_> = stale.iter().map(|(module, _)| *module).collect();
        assert!(stale.is_empty(), "run `cargo xtask gen`: {stale:?}");
    }
}
