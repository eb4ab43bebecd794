//! The table of all checks, a file for each group.

mod environment;
mod ethtool;
mod idle;
mod interrupts;
mod isolation;
mod kernel;
mod limits;
mod memory;
mod network;
mod nic;
mod threads;

use crate::check::Check;

/// Every check, by group.
pub fn checks() -> impl Iterator<Item = &'static Check> {
    let groups: [&'static [Check]; 11] = [
        isolation::CHECKS,
        threads::CHECKS,
        interrupts::CHECKS,
        kernel::CHECKS,
        idle::CHECKS,
        memory::CHECKS,
        network::CHECKS,
        nic::CHECKS,
        ethtool::CHECKS,
        limits::CHECKS,
        environment::CHECKS,
    ];
    groups.into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_check_has_a_name_of_its_own_and_says_everything() {
        let names: BTreeSet<&str> = checks().map(|check| check.name).collect();
        assert_eq!(names.len(), checks().count());
        assert!(names.len() >= 45, "{}", names.len());
        for check in checks() {
            for text in [check.name, check.reads, check.wanted, check.why, check.cost] {
                assert!(!text.is_empty() && !text.contains('\n'), "{}", check.name);
            }
        }
        // A group is told together.
        let mut groups: Vec<_> = checks().map(|check| check.group).collect();
        groups.dedup();
        assert!(groups.is_sorted(), "{groups:?}");
    }

    #[test]
    fn the_page_names_every_check() {
        let page = include_str!("../../../docs/doctor.md");
        for check in checks() {
            let name = format!("`{}`", check.name);
            assert!(page.contains(&name), "{name} is not in docs/doctor.md");
        }
    }
}
