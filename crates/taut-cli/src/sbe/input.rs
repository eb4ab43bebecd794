//! What every verb reads.

use std::path::Path;

use taut_sbe_gen::Schema;

use crate::exit::Failure;
use crate::terminal::tell;

/// Reads a schema and says what is odd about it.
pub(super) fn schema(path: &Path) -> Result<Schema, Failure> {
    let schema = Schema::read(path).map_err(Failure::usage)?;
    for warning in &schema.warnings {
        tell(format_args!("warning: {warning}"));
    }
    Ok(schema)
}

/// Checks that the schema has these messages.
pub(super) fn check_names(schema: &Schema, names: &[String]) -> Result<(), Failure> {
    match names.iter().find(|name| schema.message(name).is_none()) {
        None => Ok(()),
        Some(name) => {
            let known: Vec<_> =
                schema.messages.iter().map(|message| message.name.as_str()).collect();
            Err(Failure::Usage(format!(
                "the schema has no message {name:?}; it has {}",
                known.join(", ")
            )))
        }
    }
}
