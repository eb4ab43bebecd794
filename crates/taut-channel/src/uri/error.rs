//! Why a text is no channel URI.

use std::fmt;

/// Why a text is no channel URI: the thing, its value, what would be right.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum UriError {
    /// No channel was named.
    Missing {
        /// The forms that there are.
        forms: &'static str,
    },
    /// No such scheme.
    Scheme {
        /// What was given.
        found: String,
        /// The scheme that was probably meant.
        nearest: Option<&'static str>,
        /// The forms that there are.
        forms: &'static str,
    },
    /// The part before the parameters is wrong.
    Name {
        /// What was given.
        found: String,
        /// What it must be.
        wanted: &'static str,
    },
    /// The channel knows no such parameter.
    Unknown {
        /// What was given.
        found: String,
        /// The one that was probably meant.
        nearest: Option<&'static str>,
        /// Those that the channel knows.
        known: &'static [&'static str],
    },
    /// A parameter of Aeron that taut does not have.
    Unsupported {
        /// The parameter.
        name: &'static str,
        /// What to do instead.
        remedy: &'static str,
    },
    /// A parameter is given twice.
    Twice {
        /// The parameter.
        name: &'static str,
    },
    /// A parameter that the channel needs is absent.
    Absent {
        /// The parameter.
        name: &'static str,
        /// What it is for.
        why: &'static str,
    },
    /// A parameter has a wrong value.
    Value {
        /// The parameter.
        name: &'static str,
        /// Its value.
        found: String,
        /// What it must be.
        wanted: &'static str,
    },
    /// Two parameters that exclude each other.
    Conflict {
        /// One of them.
        name: &'static str,
        /// The other one.
        other: &'static str,
    },
}

impl fmt::Display for UriError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mean = |nearest: &Option<&str>| {
            nearest.map(|name| format!("; did you mean '{name}'?")).unwrap_or_default()
        };
        match self {
            Self::Missing { forms } => {
                write!(f, "no channel: give --channel or set TAUT_CHANNEL, to {forms}")
            }
            Self::Scheme { found, nearest, forms } => {
                let mean = mean(nearest);
                write!(f, "'{found}' is no channel scheme{mean}; a channel is {forms}")
            }
            Self::Name { found, wanted } => write!(f, "'{found}' is wrong: it must be {wanted}"),
            Self::Unknown { found, nearest, known } => {
                let mean = mean(nearest);
                write!(f, "unknown parameter '{found}'{mean}; known are {}", known.join(", "))
            }
            Self::Unsupported { name, remedy } => {
                write!(f, "parameter '{name}' of Aeron is not supported; {remedy}")
            }
            Self::Twice { name } => write!(f, "parameter '{name}' is given twice; leave one"),
            Self::Absent { name, why } => write!(f, "parameter '{name}' is missing: {why}"),
            Self::Value { name, found, wanted } => {
                write!(f, "{name}={found} is wrong: it must be {wanted}")
            }
            Self::Conflict { name, other } => {
                write!(f, "parameters '{name}' and '{other}' exclude each other; leave one")
            }
        }
    }
}

impl std::error::Error for UriError {}
