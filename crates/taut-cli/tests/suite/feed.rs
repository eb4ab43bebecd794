//! How market data travels, on machines with and without multicast.

use std::process::{Command, Stdio};

use crate::outcome::count;
use crate::support::{Demo, TAUT};

/// A network of one's own in which nobody may join a group.
const NO_MULTICAST: &str =
    "ip link set lo up && echo 0 > /proc/sys/net/ipv4/igmp_max_memberships && exec \"$0\" \"$@\"";
/// A network of one's own in which even the loopback interface is down.
const NO_LOOPBACK: &str = "exec \"$0\" \"$@\"";

#[test]
fn unicast_works_and_says_so() {
    let outcome = Demo::gentle(&["--seconds", "0.7", "--feed", "unicast"]).finish();
    outcome.expect_sound();
    outcome.expect_said("market data: unicast, as asked for: line A 127.0.0.1:");
    assert!(outcome.stderr.contains("unicast"), "the report says it too");
}

#[test]
fn multicast_works_where_there_is_any() {
    let outcome = Demo::gentle(&["--seconds", "0.7", "--feed", "multicast"]).finish();
    if outcome.status.code() == Some(1) && outcome.stderr.contains("no multicast") {
        println!("skipped: no multicast here: {}", outcome.stderr);
        return;
    }
    outcome.expect_sound();
    outcome.expect_said("market data: multicast on loopback: line A 239.255.84.84:");
}

/// A number of the report's table, by its name.
fn noted(table: &str, name: &str) -> u64 {
    let text = table.split_whitespace().collect::<Vec<_>>().join(" ");
    let (_, rest) =
        text.split_once(&format!(" {name} ")).unwrap_or_else(|| panic!("{name}: {text}"));
    let digits = rest.split_once(' ').map_or(rest, |(number, _)| number).replace(',', "");
    digits.parse().unwrap_or_else(|_| panic!("{name}: {rest}"))
}

#[test]
fn a_line_that_is_lost_wholly_is_not_missed_in_either_mode() {
    for (mode, lose) in [("split", "1000,0"), ("fused", "0,1000")] {
        let arguments = ["--seconds", "1", "--mode", mode, "--lose", lose];
        let outcome = Demo::gentle(&arguments).finish();
        let result = outcome.expect_sound();
        let first = ["first by line A", "first by line B"].map(|name| noted(&outcome.stderr, name));
        assert!(first.contains(&0) && first.contains(&count(&result, "ticks")), "{first:?}");
        // One for each instrument.
        assert_eq!(noted(&outcome.stderr, "snapshots loaded"), 3);
        assert_eq!(noted(&outcome.stderr, "requests for packets"), 0);
    }
}

#[test]
fn what_both_lines_lose_is_sent_again_or_covered_by_a_snapshot_where_that_is_refused() {
    let arguments = ["--seconds", "2", "--lose", "200,200"];
    let outcome = Demo::gentle(&arguments).finish();
    let result = outcome.expect_sound();
    assert!(noted(&outcome.stderr, "first by retransmission") > 10);
    // On a busy machine one gap is many packets long.
    assert!(noted(&outcome.stderr, "gaps") > 0, "{}", outcome.stderr);
    assert!(count(&result, "orders") > 0, "{}", outcome.stderr);

    let refused = Demo::gentle(&[&arguments[..], &["--refuse-retransmission"]].concat()).finish();
    let result = refused.expect_sound();
    assert_eq!(noted(&refused.stderr, "first by retransmission"), 0);
    assert!(noted(&refused.stderr, "snapshots loaded") > 1 && count(&result, "recovered") > 0);
}

#[test]
fn without_multicast_it_falls_back_to_unicast_and_says_why() {
    let arguments = ["--ticks", "2000", "--rate", "200", "--seconds", "0.7"];
    let Some(demo) = in_own_network(NO_MULTICAST, &arguments) else { return };
    let outcome = demo.finish();
    outcome.expect_sound();
    outcome.expect_said("market data: unicast, because multicast on loopback does not work: ");
}

#[test]
fn without_multicast_multicast_is_refused_with_the_remedy() {
    let Some(demo) = in_own_network(NO_MULTICAST, &["--feed", "multicast"]) else { return };
    demo.finish().expect_refused(1, &["--feed multicast", "no multicast", "--feed unicast"]);
}

#[test]
fn without_loopback_it_says_what_to_do() {
    let Some(demo) = in_own_network(NO_LOOPBACK, &[]) else { return };
    demo.finish().expect_refused(1, &["market data", "127.0.0.1", "ip link set lo up"]);
}

/// A demo in a network namespace that this script has prepared; nothing, with a notice, where that
/// cannot be had.
fn in_own_network(script: &str, arguments: &[&str]) -> Option<Demo> {
    let prepared = |program: &str| {
        let mut command = Command::new("unshare");
        command.args(["--net", "sh", "-c", script, program]);
        command
    };
    let works = prepared("true")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    if !works {
        println!("skipped: no network namespace can be made and prepared here");
        return None;
    }
    let mut command = prepared(TAUT);
    command.args(["demo", "--json", "--out", "report"]).args(arguments);
    Some(Demo::spawn(command))
}
