//! A publisher and a subscriber in network namespaces of their own, with a real link between them
//! that loses datagrams. Skips with a notice where namespaces cannot be made.
//!
//! - A relay in a third namespace forwards datagrams over two virtual cables, and drops, doubles
//!   and swaps them by a seed.
//! - A router whose queue (token bucket, 200 Mbit/s, 8 KB) overflows: the kernel drops.
//!
//! The script starts this program again as relay, subscriber and publisher.

use std::collections::HashMap;
use std::net::{SocketAddr, UdpSocket};
use std::process::{Command, Stdio};

use taut_channel::{ChannelUri, Closing, Loss, OfferError, Opening, Publication, Subscription};
use taut_sys::monotonic;
use taut_types::Nanos;

const PATIENCE: Nanos = Nanos::from_secs(60);
const COUNT: u64 = 20_000;
/// Messages that leave at once: more than the router's queue holds.
const BURST: u64 = 128;
const ROLE: &str = "TAUT_LINK_ROLE";
const CHANNEL: &str = "TAUT_LINK_CHANNEL";

/// Two hosts and what is between them, each a namespace; `$kind` is `relay` or `router`. The
/// holders of the hosts' namespaces end with the script.
const SCRIPT: &str = r#"
set -e
unshare --net sleep 100 & a=$!
unshare --net sleep 100 & b=$!
trap 'kill $a $b $r 2>/dev/null' EXIT
ip link set lo up
for side in "$a 1" "$b 2"; do
  set -- $side; holder=$1; net=$2
  while [ "$(readlink /proc/$holder/ns/net)" = "$(readlink /proc/self/ns/net)" ]; do
    sleep 0.01
  done
  ip link add m$net type veth peer name v$net netns $holder
  ip addr add 10.77.$net.1/24 dev m$net
  ip link set m$net up
  nsenter --net=/proc/$holder/ns/net sh -c "ip link set lo up
    ip addr add 10.77.$net.2/24 dev v$net; ip link set v$net up
    ip route add default via 10.77.$net.1"
done
[ -n "$only_prepare" ] && exit 0
to=10.77.2.2
if [ "$kind" = relay ]; then
  to=10.77.1.1
  TAUT_LINK_ROLE=relay "$program" role --exact --nocapture & r=$!
else
  echo 1 > /proc/sys/net/ipv4/ip_forward
  tc qdisc add dev m2 root tbf rate 200mbit burst 4kb limit 8kb
fi
start() {
  nsenter --net=/proc/$1/ns/net env TAUT_LINK_ROLE=$2 \
    "TAUT_LINK_CHANNEL=aeron:udp?endpoint=$3:4000|stream-id=7|term-length=256k$more" \
    "$program" role --exact --nocapture
}
start $b receive 10.77.2.2 & x=$!
start $a send $to
wait $x
"#;

/// Runs the script; nothing, with a notice, where it cannot.
fn run(kind: &str, more: &str) -> Option<String> {
    let program = std::env::current_exe().expect("this program");
    let script = |only_prepare: &str| {
        let mut command = Command::new("unshare");
        command.args(["--net", "sh", "-c", SCRIPT]).stdin(Stdio::null());
        command.env("kind", kind).env("more", more).env("program", &program);
        command.env("only_prepare", only_prepare);
        command.output()
    };
    if !script("yes").is_ok_and(|done| done.status.success()) {
        println!("skipped: no network namespaces can be made and connected here");
        return None;
    }
    let done = script("").expect("the script runs");
    let said = String::from_utf8_lossy(&done.stdout).into_owned();
    let errors = String::from_utf8_lossy(&done.stderr);
    if errors.contains("qdisc kind is unknown") {
        println!("skipped: this kernel has no token-bucket queue");
        return None;
    }
    assert!(done.status.success(), "{said}{errors}");
    Some(said)
}

fn message(sequence: u64) -> Vec<u8> {
    let bytes = 8 + (sequence % 97) as usize + if sequence.is_multiple_of(50) { 4000 } else { 0 };
    let mut message = sequence.to_le_bytes().to_vec();
    message.extend((8..bytes).map(|at| (sequence as usize + at) as u8));
    message
}

#[test]
fn every_byte_arrives_in_order_over_a_relay_that_loses_doubles_and_swaps_datagrams() {
    let Some(said) = run("relay", "") else { return };
    assert!(said.contains("received all"), "{said}");
    println!("{said}");
}

#[test]
fn every_byte_arrives_in_order_through_a_router_whose_queue_overflows() {
    for more in ["", "|cc=cubic"] {
        let Some(said) = run("router", more) else { return };
        assert!(said.contains("received all"), "{said}");
        assert!(!said.contains("repaired 0 datagrams"), "the queue overflowed: {said}");
        println!("{said}");
    }
}

/// What this program does when the script starts it; nothing otherwise.
#[test]
fn role() {
    let role = std::env::var(ROLE).unwrap_or_default();
    let uri =
        || -> ChannelUri { std::env::var(CHANNEL).expect("a channel").parse().expect("a channel") };
    match role.as_str() {
        "relay" => relay(),
        "receive" => receive(&uri()),
        "send" => send(&uri()),
        _ => {}
    }
}

fn opening() -> Opening {
    Opening { now: monotonic(), ..Opening::default() }
}

fn send(uri: &ChannelUri) {
    let mut publication = Publication::open(uri, &opening()).expect("send");
    let (begun, mut next) = (monotonic(), 0);
    while next < COUNT {
        match publication.offer(monotonic(), &message(next)) {
            Ok(_) => next += 1,
            Err(OfferError::BackPressured | OfferError::NotConnected) => {
                publication.work(monotonic());
                publication.block(Nanos::from_micros(50));
            }
            Err(error) => panic!("{error}"),
        }
        if next.is_multiple_of(BURST) {
            publication.work(monotonic());
        }
        assert!(monotonic() - begun < PATIENCE, "{next} sent: {:?}", publication.counters());
    }
    publication.close(monotonic());
    while publication.closing() != Closing::Closed {
        publication.work(monotonic());
        assert!(monotonic() - begun < PATIENCE, "{:?}", publication.closing());
    }
    println!("sent all, repaired {} datagrams", publication.counters().repaired);
}

fn receive(uri: &ChannelUri) {
    let mut subscription = Subscription::open(uri, &opening()).expect("listen");
    let (begun, mut next) = (monotonic(), 0);
    while next < COUNT || subscription.image_count() > 0 {
        let got = subscription.poll(monotonic(), 64, |got| {
            let sequence = u64::from_le_bytes(*got.payload.first_chunk().expect("a sequence"));
            assert_eq!(sequence, next, "in order");
            assert_eq!(got.payload, message(sequence));
            next += 1;
        });
        if got == 0 {
            subscription.block(Nanos::from_micros(50));
        }
        assert!(monotonic() - begun < PATIENCE, "{next} received: {:?}", subscription.counters());
    }
    println!("received all: {:?}", subscription.counters());
    subscription.close(monotonic());
}

/// Forwards what comes from one side to the other: from the publisher's net to the subscriber, and
/// what it answers back. Of a hundred datagrams 5 are lost, 2 doubled, 2 overtaken by the next one.
fn relay() {
    let front = UdpSocket::bind("10.77.1.1:4000").expect("the publisher's side");
    let back = UdpSocket::bind("10.77.2.1:0").expect("the subscriber's side");
    for socket in [&front, &back] {
        socket.set_nonblocking(true).expect("a socket that does not wait");
    }
    let subscriber: SocketAddr = "10.77.2.2:4000".parse().expect("an address");
    let dice = |share, seed| Loss::new(share, seed).expect("a share");
    let (mut loses, mut doubles, mut swaps) = (dice(0.05, 1), dice(0.02, 2), dice(0.02, 3));
    let mut publisher = None;
    let mut held: HashMap<bool, Vec<u8>> = HashMap::new();
    let mut bytes = [0; 65_536];
    // It is ended by the script.
    loop {
        let mut count = 0;
        for is_forth in [true, false] {
            let from = if is_forth { &front } else { &back };
            let Ok((length, source)) = from.recv_from(&mut bytes) else { continue };
            count += 1;
            if is_forth {
                publisher = Some(source);
            }
            let (to, via) = match (is_forth, publisher) {
                (true, _) => (subscriber, &back),
                (false, Some(publisher)) => (publisher, &front),
                (false, None) => continue,
            };
            if loses.drops() {
                continue;
            }
            if swaps.drops() && !held.contains_key(&is_forth) {
                held.insert(is_forth, bytes[..length].to_vec());
                continue;
            }
            for _ in 0..1 + u32::from(doubles.drops()) {
                let _ = via.send_to(&bytes[..length], to);
            }
            if let Some(late) = held.remove(&is_forth) {
                let _ = via.send_to(&late, to);
            }
        }
        if count == 0 {
            taut_sys::yield_cpu();
        }
    }
}
