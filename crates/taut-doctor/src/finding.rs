//! What a check finds, and what mends it.

use serde::{Serialize, Serializer};

/// How a check ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// As it should be.
    Ok,
    /// Not as it should be.
    Wrong,
    /// It cannot be seen from here.
    Unseen,
}

/// What mends it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fix {
    /// A shell command, as root. It holds until the next boot.
    Command(String),
    /// A shell command, as root, that changes files or services: it holds until it is taken back.
    Permanent(String),
    /// A parameter of the kernel's command line, from the next boot on.
    Boot(String),
    /// The words of a person to a person: what no command does here, or no script should do.
    Advice(String),
}

impl Fix {
    /// A sysctl.
    #[must_use]
    pub fn sysctl(key: &str, value: impl std::fmt::Display) -> Self {
        Self::Command(format!("sysctl -w {key}={value}"))
    }

    /// A value written to a file of the kernel's.
    #[must_use]
    pub fn write(path: &str, value: impl std::fmt::Display) -> Self {
        Self::Command(format!("echo {value} > {path}"))
    }
}

/// As it is typed, or said.
impl std::fmt::Display for Fix {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Command(text) | Self::Permanent(text) | Self::Advice(text) => f.write_str(text),
            Self::Boot(parameter) => {
                write!(f, "grubby --update-kernel=ALL --args='{parameter}', then reboot")
            }
        }
    }
}

impl Serialize for Fix {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// What a check saw.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// How it ended: never [`Verdict::Unseen`].
    pub verdict: Verdict,
    /// What is.
    pub found: String,
    /// What mends it, where it is wrong.
    pub fix: Option<Fix>,
}

/// It cannot be seen from here, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unseen(pub String);

impl Finding {
    /// As it should be.
    #[must_use]
    pub fn ok(found: impl Into<String>) -> Self {
        Self { verdict: Verdict::Ok, found: found.into(), fix: None }
    }

    /// Not as it should be.
    #[must_use]
    pub fn wrong(found: impl Into<String>, fix: Fix) -> Self {
        Self { verdict: Verdict::Wrong, found: found.into(), fix: Some(fix) }
    }

    /// The one or the other.
    #[must_use]
    pub fn judge(is_ok: bool, found: impl Into<String>, fix: impl FnOnce() -> Fix) -> Self {
        if is_ok { Self::ok(found) } else { Self::wrong(found, fix()) }
    }
}
