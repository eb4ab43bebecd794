//! Cycles: no two modules of a crate need each other, directly or around a corner.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::finding::Finding;
use super::house::House;
use super::law::Law;
use super::module::{Name, Use, uses};

/// The law.
pub const LAW: Law = Law {
    name: "cycles",
    reason: "modules of a crate use each other in one direction, so that each can be read alone",
    check,
};

fn check(house: &House<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for package in &house.packages {
        let src = package.file("src/");
        let inside = house
            .sources_of(package)
            .filter_map(|(path, source)| Some((path.strip_prefix(&src)?, path, source)));
        let files: Vec<_> = inside.collect();
        findings.extend(cycles(&uses(&files)).iter().map(|cycle| finding(cycle)));
    }
    findings
}

/// For every module that is on a cycle and on none of those before, a shortest one.
fn cycles(uses: &[Use]) -> Vec<Vec<&Use>> {
    let mut graph: BTreeMap<&Name, BTreeMap<&Name, &Use>> = BTreeMap::new();
    for u in uses {
        graph.entry(&u.from).or_default().entry(&u.to).or_insert(u);
    }
    let mut known = BTreeSet::new();
    let mut cycles = Vec::new();
    for start in graph.keys() {
        if known.contains(start) {
            continue;
        }
        if let Some(cycle) = cycle_from(&graph, start) {
            known.extend(cycle.iter().map(|u| &u.from));
            cycles.push(cycle);
        }
    }
    cycles
}

/// A shortest way from `start` back to itself.
fn cycle_from<'u>(
    graph: &BTreeMap<&'u Name, BTreeMap<&'u Name, &'u Use>>,
    start: &Name,
) -> Option<Vec<&'u Use>> {
    let mut reached: BTreeMap<&Name, &Use> = BTreeMap::new();
    let mut queue = VecDeque::from([start]);
    while let Some(from) = queue.pop_front() {
        for (&to, &u) in graph.get(from).into_iter().flatten() {
            if !reached.contains_key(to) {
                reached.insert(to, u);
                queue.push_back(to);
            }
        }
    }
    let mut cycle = vec![*reached.get(start)?];
    while let Some(first) = cycle.last().filter(|u| u.from != *start) {
        cycle.push(reached.get(&first.from)?);
    }
    cycle.reverse();
    Some(cycle)
}

fn finding(cycle: &[&Use]) -> Finding {
    let names: Vec<String> = cycle.iter().map(|u| u.from.join("::")).collect();
    let edges: Vec<String> =
        cycle.iter().map(|u| format!("{}:{} uses {}", u.path, u.line, u.to.join("::"))).collect();
    let what = format!("{} -> {} ({})", names.join(" -> "), names[0], edges.join(", "));
    let remedy = "move what they share into a module below them, or pass it as an argument";
    Finding::new(&cycle[0].path, cycle[0].line, what, remedy)
}

#[cfg(test)]
mod tests {
    use super::LAW;
    use crate::tidy::fixture::{assert_broken, assert_kept, check, with};

    const NANOS: &str = "crates/taut-types/src/nanos.rs";

    #[test]
    fn two_modules_do_not_use_each_other() {
        // price.rs uses `crate::Nanos` in its line 3, through the list in lib.rs.
        for code in ["use crate::price::Price;", "use crate::Price;", "use super::Price;"] {
            let place = "crates/taut-types/src/nanos.rs:2";
            let cycle = "nanos -> price -> nanos (crates/taut-types/src/nanos.rs:2 uses price, \
                         crates/taut-types/src/price.rs:3 uses nanos)";
            let code = format!("pub struct Nanos;\n{code}\n");
            assert_broken(&LAW, &[(NANOS, &code)], place, cycle);
        }
    }

    #[test]
    fn nor_around_a_corner() {
        let other = ("crates/taut-types/src/other.rs", "pub fn f() -> crate::Price {}\n");
        let nanos = (NANOS, "pub struct Nanos;\nfn f() { crate::other::f() }\n");
        let cycle = "nanos -> other -> price -> nanos";
        assert_broken(&LAW, &[nanos, other], "crates/taut-types/src/nanos.rs:2", cycle);
    }

    #[test]
    fn a_child_does_not_use_its_parent_that_uses_it() {
        let parent = (NANOS, "mod span;\npub use span::Span;\npub struct Nanos;\n");
        let child = ("crates/taut-types/src/nanos/span.rs", "use super::Nanos;\n");
        let place = "crates/taut-types/src/nanos.rs:2";
        assert_broken(&LAW, &[parent, child], place, "nanos -> nanos::span -> nanos");
        assert_kept(&LAW, &[(NANOS, "mod span;\npub struct Nanos;\n"), child]);
    }

    #[test]
    fn each_knot_is_named() {
        let tree = with(&[
            (NANOS, "use crate::price::Price;\n"),
            ("xtask/src/main.rs", "mod a; mod b;\n"),
            ("xtask/src/a.rs", "use crate::b;\n"),
            ("xtask/src/b.rs", "\nuse crate::a;\n"),
        ]);
        let violations = check(&LAW, &tree);
        assert_eq!(violations.len(), 2, "{violations:#?}");
        assert!(violations[1].starts_with("xtask/src/a.rs:1: cycles: a -> b -> a "));
    }

    #[test]
    fn tests_may() {
        assert_kept(&LAW, &[(NANOS, "#[cfg(test)]\nmod tests { use crate::Price; }\n")]);
    }
}
