//! Listeners: none without an admission policy.

use super::finding::Finding;
use super::house::House;
use super::law::Law;
use super::source::{Source, is_sequence};

/// The law.
pub const LAW: Law = Law {
    name: "listeners",
    reason: "whoever can reach a listener costs it something: a policy says how much",
    check,
};

/// Who makes listeners for the others, and for tests.
const MAKERS: &[&str] = &["crates/taut-io/", "crates/taut-sys/", "crates/taut-testkit/"];
/// Where tests within a crate live.
const TESTS: &[&str] = &["/tests/", "/tests.rs", "/hostile/", "/hostile.rs"];
/// A run's own listener on loopback with four slots: its one client says nothing before its first
/// order, which may be any time later.
const WITHOUT_HANDSHAKE: &[&str] = &["crates/taut-runner/src/roles/read_and_forget.rs"];
const NO_STRANGERS: &str = "without `handshake_timeout` nobody is a stranger";

fn check(house: &House<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, source) in house.sources() {
        let ships = path.starts_with("crates/") && path.contains("/src/");
        let is_other = |parts: &[&str]| !parts.iter().any(|part| path.contains(part));
        if ships && is_other(MAKERS) && is_other(TESTS) {
            let is_meant = |what| what == NO_STRANGERS && WITHOUT_HANDSHAKE.contains(&path);
            for (line, what) in unguarded(source).into_iter().filter(|it| !is_meant(it.1)) {
                let remedy = "listen on a loop of taut-io, with the limits of its `Admission`";
                findings.push(Finding::new(path, line, what.to_owned(), remedy));
            }
        }
    }
    findings
}

/// Every listener that lets anybody in, with its line.
fn unguarded(source: &Source) -> Vec<(usize, &'static str)> {
    let all = &source.shipped_tokens;
    let found = (0..all.len()).filter_map(|at| {
        let what = if is_sequence(all, at, &["Admission", ":", ":", "OPEN"]) {
            "`Admission::OPEN` is for tests"
        } else if is_sequence(all, at, &["TcpListener", ":", ":", "bind"]) {
            "`TcpListener` has no policy"
        } else if is_sequence(all, at, &["UnixListener", ":", ":", "bind"]) {
            "`UnixListener` has no policy"
        } else if is_sequence(all, at, &["handshake_timeout", ":", "None"]) {
            NO_STRANGERS
        } else {
            return None;
        };
        Some((all[at].line, what))
    });
    found.collect()
}

#[cfg(test)]
mod tests {
    use super::LAW;
    use crate::tidy::fixture::{assert_broken, assert_kept};

    const AT: &str = "crates/taut-fix/src/a.rs";

    #[test]
    fn a_listener_that_lets_anybody_in_is_found() {
        let open = "fn f() {\n    io.listen(&at, &options, &Admission::OPEN);\n}\n";
        assert_broken(&LAW, &[(AT, open)], "crates/taut-fix/src/a.rs:2", "`Admission::OPEN`");
        let raw = "fn f() { std::net::TcpListener::bind(at); }\n";
        assert_broken(&LAW, &[(AT, raw)], "crates/taut-fix/src/a.rs:1", "`TcpListener`");
        let unix = "fn f() { std::os::unix::net::UnixListener::bind(at); }\n";
        assert_broken(&LAW, &[(AT, unix)], "crates/taut-fix/src/a.rs:1", "`UnixListener`");
        let timeless = "fn f() { let a = Admission { handshake_timeout: None, ..a }; }\n";
        assert_broken(&LAW, &[(AT, timeless)], "crates/taut-fix/src/a.rs:1", "`handshake_timeout`");
    }

    #[test]
    fn tests_and_those_with_limits_are_not() {
        let guarded = "fn f() { io.listen(&at, &options, &Admission::new(8, TIMEOUT)); }\n";
        assert_kept(&LAW, &[(AT, guarded)]);
        let open = "fn f() { io.listen(&at, &options, &Admission::OPEN); }\n";
        let test = format!("#[cfg(test)]\nmod tests {{ {open} }}\n");
        assert_kept(&LAW, &[(AT, &test), ("crates/taut-fix/tests/a.rs", open)]);
        assert_kept(&LAW, &[("crates/taut-io/src/a.rs", open)]);
    }
}
