//! Leased UDP through `taut send` and `taut receive`, as a user runs them.

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use serde_json::Value;
use taut_sys::{ProcessSignal, signal_process};
use taut_testkit::{DEADLINE, Process, own_address, own_group};

use super::command::{TAUT, count, lease, receive, report, send};

fn channel(at: SocketAddr, more: &str) -> String {
    format!("lease:udp?endpoint={at}{more}")
}

/// What came, what was lost, and what was sent before it listened.
fn all(received: &Value) -> u64 {
    ["received", "lost", "sent_before"].map(|name| count(received, name)).iter().sum()
}

/// Nothing is unaccounted for. The kernel drops what a receiver that may not run does not take: on
/// a busy machine a little is lost.
fn check_received(received: &Value) {
    assert_eq!(all(received), 1000, "{received}");
    assert!(count(received, "received") > 700, "{received}");
}

/// Waits until a subscriber asks at this address, without answering.
fn await_question(at: SocketAddr) {
    let socket = UdpSocket::bind(at).expect("the publisher's address");
    socket.set_read_timeout(Some(DEADLINE)).expect("a deadline");
    let (length, _) = socket.recv_from(&mut [0; 128]).expect("a question");
    assert!(length >= 48);
}

const STREAM: [&str; 4] = ["--rate", "5000", "--count", "1000"];

#[test]
fn either_side_may_start_first_and_everything_arrives() {
    let at = own_address();
    let receiver = receive(&channel(at, ""), &[]);
    await_question(at);
    let sent = report(send(&channel(at, ""), &STREAM));
    assert_eq!(count(&sent, "sent"), 1000);
    check_received(&report(receiver));
    let mut sender = send("lease:udp?endpoint=127.0.0.1:0", &STREAM);
    let at = |line: &str| line.rsplit_once(" at ")?.1.rsplit_once(':')?.1.parse::<u16>().ok();
    let at = SocketAddr::from((Ipv4Addr::LOCALHOST, sender.stderr_line("its address", at)));
    let received = report(receive(&channel(at, ""), &[]));
    assert_eq!(count(&report(sender), "sent"), 1000);
    check_received(&received);
}

#[test]
fn who_leaves_is_unsubscribed_and_the_next_one_takes_its_place() {
    let channel = lease("");
    let first = receive(&channel, &["--count", "50"]);
    let sender = send(&channel, &["--rate", "1000", "--count", "3000"]);
    assert_eq!(count(&report(first), "received"), 50);
    let second = report(receive(&channel, &[]));
    assert_eq!(count(&report(sender), "sent"), 3000);
    // What was sent before it came is not lost.
    let [came, lost, before] = ["received", "lost", "sent_before"].map(|name| count(&second, name));
    assert!(before >= 50, "{second}");
    assert_eq!(came + lost + before, 3000, "{second}");
}

#[test]
fn a_pre_shared_key_lets_its_owners_hear_each_other_and_nobody_else() {
    let directory = tempfile::tempdir().expect("directory");
    let key = |name: &str, text: &str| {
        let path = directory.path().join(name);
        std::fs::write(&path, text).expect("write");
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).expect("mode");
        format!("|key={}", path.display())
    };
    let ours = key("ours", "00112233445566778899aabbccddeeff\n");
    let theirs = key("theirs", "ffeeddccbbaa99887766554433221100\n");
    let at = own_address();
    let strangers = ["", &theirs].map(|key| receive(&channel(at, key), &[]));
    await_question(at);
    let receiver = receive(&channel(at, &ours), &[]);
    let sent = report(send(&channel(at, &ours), &STREAM));
    assert_eq!(count(&sent, "sent"), 1000);
    check_received(&report(receiver));
    for stranger in strangers {
        signal_process(stranger.id(), ProcessSignal::Terminate).expect("signal");
        assert_eq!(count(&report(stranger), "received"), 0);
    }
}

#[test]
fn a_group_carries_one_stream_to_several_subscribers() {
    let (at, group) = (own_address(), own_group());
    let channel = channel(at, &format!("|group={group}:{}|interface=127.0.0.1", at.port()));
    let probe = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).expect("socket");
    if probe.join_multicast_v4(&group, &Ipv4Addr::LOCALHOST).is_err() {
        println!("skipped: no multicast on the loopback interface");
        return;
    }
    let receivers = [0, 1].map(|_| receive(&channel, &[]));
    let sent = report(send(&channel, &["--rate", "1000", "--count", "1500"]));
    assert_eq!(count(&sent, "sent"), 1500);
    for received in receivers.map(report) {
        // The sender waits for the first one only.
        assert!(count(&received, "received") > 0, "{received}");
        assert_eq!(all(&received), 1500, "{received}");
        assert_eq!(count(&received, "duplicated"), 0, "{received}");
    }
}

/// In a network of the test's own, where any port is free.
fn here(more: &str) -> String {
    channel(SocketAddr::from((Ipv4Addr::LOCALHOST, 4000)), more)
}

/// Sends one message of `size` bytes over a loopback interface with a small MTU, in a network of
/// its own; the exit code and what was said, or nothing where there can be no such network.
fn over_a_small_mtu(size: &str) -> Option<(Option<i32>, String)> {
    let script = r#"ip link set lo up mtu 1400 || exit 77
        [ "$1" = 0 ] && exit 0
        "$0" receive --channel "$2" >/dev/null 2>&1 & receiver=$!
        "$0" send --channel "$2" --size "$1" --rate max --count 1; status=$?
        kill $receiver 2>/dev/null; wait $receiver; exit $status"#;
    let run = |size: &str| {
        let mut command = Command::new("unshare");
        command.args(["--net", "sh", "-c", script, TAUT, size, &here("")]);
        Process::start_group(&mut command).finish()
    };
    if !run("0").status.success() {
        println!("skipped: no network namespace can be made and prepared here");
        return None;
    }
    let output = run(size);
    Some((output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned()))
}

#[test]
fn a_message_that_the_path_does_not_carry_in_one_piece_is_refused_with_size_limit_and_remedy() {
    // 1400 less 28 of IP and UDP and 32 of ours.
    let Some((status, _)) = over_a_small_mtu("1340") else { return };
    assert_eq!(status, Some(0));
    let Some((status, errors)) = over_a_small_mtu("1341") else { return };
    assert_eq!(status, Some(2), "{errors}");
    for part in ["1341 bytes is too long", "at most 1340", "raise the MTU of the interfaces"] {
        assert!(errors.contains(part), "{part}: {errors}");
    }
}

#[test]
fn a_datagram_that_the_path_to_a_group_does_not_carry_is_refused_before_anything_is_sent() {
    let script = r#"ip link set lo up mtu 1400 || exit 77
        exec "$0" send --channel "$1" --count 1 --no-wait --linger 0"#;
    let run = |mtu: &str| {
        let group = format!("|group=239.255.77.4:4000|interface=127.0.0.1|mtu={mtu}");
        let mut command = Command::new("unshare");
        command.args(["--net", "sh", "-c", script, TAUT, &here(&group)]);
        let output = Process::start_group(&mut command).finish();
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    // 1400 less 28 of IP and UDP.
    match run("1372") {
        (Some(0), _) => {}
        result => {
            println!("skipped: no network namespace can be made and prepared here: {result:?}");
            return;
        }
    }
    let (status, errors) = run("1373");
    assert_eq!(status, Some(2), "{errors}");
    for part in ["mtu=1373", "carries 1372 bytes", "raise the MTU of the interface"] {
        assert!(errors.contains(part), "{part}: {errors}");
    }
}

/// Two receivers of one sender: one on its host, one behind a cable that carries 1,280 bytes.
const TWO_PATHS: &str = r#"
set -e
unshare --net sleep 60 & far=$!
trap 'kill $far $near $sent $over 2>/dev/null || true' EXIT
ip link set lo up
while [ "$(readlink /proc/$far/ns/net)" = "$(readlink /proc/self/ns/net)" ]; do
  kill -0 $far; sleep 0.01
done
ip link add m1 mtu 1280 type veth peer name v1 mtu 1280 netns $far
ip addr add 10.78.1.1/24 dev m1
ip link set m1 up
inside() { nsenter --net=/proc/$far/ns/net "$@"; }
inside ip link set lo up
inside ip addr add 10.78.1.2/24 dev v1
inside ip link set v1 up
[ -n "$only_prepare" ] && exit 0
channel="lease:udp?endpoint=10.78.1.1:4000"
"$0" receive --json --channel "$channel" > "$1/near" & near=$!
"$0" send --json --channel "$channel" --size 1400 --rate 300 --count 1000 > "$1/sent" & sent=$!
# Some messages are under way before the other one comes.
until awk '/lo:/ { exit $10 < 20000 }' /proc/net/dev; do kill -0 $sent; sleep 0.01; done
inside "$0" receive --json --channel "$channel" > "$1/over" & over=$!
wait $sent
wait $near
wait $over
"#;

#[test]
fn what_one_subscriber_s_path_does_not_carry_is_dropped_for_it_alone_and_counted() {
    let directory = tempfile::tempdir().expect("directory");
    let run = |only_prepare: &str| {
        let mut command = Command::new("unshare");
        command.args(["--net", "sh", "-c", TWO_PATHS, TAUT]).arg(directory.path());
        Process::start_group(command.env("only_prepare", only_prepare)).finish()
    };
    if !run("yes").status.success() {
        println!("skipped: no network namespaces can be made and connected here");
        return;
    }
    let output = run("");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let [sent, near, over] = ["sent", "near", "over"].map(|name| -> Value {
        let text = std::fs::read(directory.path().join(name)).expect("a report");
        serde_json::from_slice(&text).expect("JSON")
    });
    assert_eq!((count(&near, "received"), count(&near, "lost")), (1000, 0), "{near}");
    // It may have come behind the first ones.
    assert_eq!((count(&over, "received"), all(&over)), (0, 1000), "{over}");
    let each = sent["subscribers"].as_array().expect("subscribers");
    let of = |host: &str| {
        let is_it = |one: &&Value| one["peer"].as_str().is_some_and(|peer| peer.starts_with(host));
        each.iter().find(is_it).unwrap_or_else(|| panic!("{host}: {sent}"))
    };
    assert_eq!(count(of("10.78.1.1:"), "dropped"), 0, "{sent}");
    let dropped = count(of("10.78.1.2:"), "dropped");
    assert!((1..1000).contains(&dropped), "{sent}");
    assert_eq!(count(&sent, "dropped"), dropped, "{sent}");
}
