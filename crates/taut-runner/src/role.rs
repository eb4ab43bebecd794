//! The processes of a run, by name.

use std::ffi::OsStr;

use serde::{Deserialize, Serialize};

/// Tells a process which role it plays; set by the runner for the processes that it starts.
pub(crate) const ROLE_VARIABLE: &str = "TAUT_ROLE";

/// What a process of a run is there for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Role {
    /// The venue simulator.
    Venue,
    /// It follows the venue, and takes its place when that is killed.
    Standby,
    /// Feed, book, risk, orders; in fused mode the strategy too.
    Gateway,
    /// The strategy, in split mode.
    Strategy,
}

impl Role {
    const ALL: [Self; 4] = [Self::Venue, Self::Standby, Self::Gateway, Self::Strategy];

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Venue => "venue",
            Self::Standby => "standby",
            Self::Gateway => "gateway",
            Self::Strategy => "strategy",
        }
    }

    /// The role in which a runner started this process, if one did. Such a process comes back
    /// through `main` with its parent's arguments, and ends within [`Runner::run`]: a program that
    /// has much to do before asks here first.
    ///
    /// [`Runner::run`]: crate::Runner::run
    #[must_use]
    pub fn of_this_process() -> Option<Self> {
        std::env::var_os(ROLE_VARIABLE).as_deref().and_then(Self::named)
    }

    fn named(name: &OsStr) -> Option<Self> {
        Self::ALL.into_iter().find(|role| name == role.name())
    }
}

/// What this program is called.
pub(crate) fn program_name() -> String {
    let path = std::env::current_exe().unwrap_or_default();
    path.file_name().map_or_else(|| "taut".to_owned(), |name| name.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_role_is_found_by_its_name_and_nothing_else_is_one() {
        for role in Role::ALL {
            assert_eq!(Role::named(OsStr::new(role.name())), Some(role));
        }
        assert_eq!(Role::named(OsStr::new("parent")), None);
        assert_eq!(Role::of_this_process(), None);
    }
}
