//! Which build this is: a recording is done again by the one that wrote it, or it is said that
//! another one does it.

use std::fmt;

use serde::{Deserialize, Serialize};
use taut_market_data::native::SCHEMA;
use taut_simd::crc32c;

/// What a recording says of who wrote it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Build {
    /// taut's version.
    pub build: String,
    /// The program's own file: its length and its CRC-32C. Another strategy is another program.
    pub program: String,
    /// The schema of taut's own feed.
    pub schema: String,
}

impl Build {
    /// This one. Reads the program's file, which takes some ten milliseconds.
    pub fn this() -> Self {
        let program = std::env::current_exe().and_then(std::fs::read).unwrap_or_default();
        Self {
            build: concat!("taut ", env!("CARGO_PKG_VERSION")).to_owned(),
            program: format!("{:x}-{:08x}", program.len(), crc32c(&program)),
            schema: format!("{:08x}", crc32c(SCHEMA.as_bytes())),
        }
    }

    /// What this build has otherwise than another one, in words; nothing where all is the same.
    pub fn differs_from(&self, other: &Self) -> Option<String> {
        let pairs = [
            ("version", &self.build, &other.build),
            ("program", &self.program, &other.program),
            ("schema", &self.schema, &other.schema),
        ];
        let differs = pairs.into_iter().find(|(_, one, two)| one != two);
        differs.map(|(what, one, other)| format!("another {what}: {other}, this is {one}"))
    }
}

impl fmt::Display for Build {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { build, program, schema } = self;
        write!(f, "{build}, program {program}, schema {schema}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_difference_between_two_builds_is_named() {
        let this = Build::this();
        assert_eq!(this.differs_from(&Build::this()), None);
        let other = Build { program: "1-2".to_owned(), ..this.clone() };
        let said = this.differs_from(&other).expect("another program");
        assert!(said.starts_with("another program: 1-2, this is "), "{said}");
    }
}
