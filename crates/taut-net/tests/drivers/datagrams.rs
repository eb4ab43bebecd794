//! Feeds.

use std::net::{IpAddr, SocketAddr};

use taut_io::{Admission, Completion, EventLoop, Handle, Io, Kernel, WaitStrategy};
use taut_net::{Feed, FeedSender, Feeds};
use taut_sys::{DatagramOptions, Interface, Socket, interfaces};
use taut_testkit::own_address;
use taut_types::Nanos;

use crate::rig::{at, events, patience, until};

fn unicast<K: Kernel>(
    events: &mut EventLoop<K>,
    feeds: &mut Feeds,
    host: &str,
) -> (u32, SocketAddr) {
    let options = DatagramOptions { receive_timestamps: true, ..DatagramOptions::default() };
    let feed = Feed { options, ..Feed::new(SocketAddr::new(host.parse().unwrap(), 0)) };
    let index = feeds.open(events.io(), &feed).unwrap();
    let socket = feeds.sockets()[index as usize];
    (index, events.io().local_address(socket).unwrap().inet().unwrap())
}

/// Sends `count` packets to each address in turn and takes them out of the shared buffer.
fn play<K: Kernel>(
    events: &mut EventLoop<K>,
    feeds: &mut Feeds,
    sender: &mut impl FnMut(&mut Io<K>, usize, &[u8]),
    (feed_count, count): (usize, u32),
) -> u32 {
    let mut taken = 0;
    for number in 0..count {
        for feed in 0..feed_count {
            sender(events.io(), feed, &number.to_le_bytes());
        }
        let until = taken + feed_count as u32;
        let mut handler = |io: &mut Io<K>, completion: Completion<'_>| {
            assert!(feeds.handle(&completion));
            while let Some(packet) = feeds.head() {
                assert_eq!(packet.bytes, number.to_le_bytes());
                assert!((packet.feed as usize) < feed_count);
                feeds.consume();
                taken += 1;
            }
            if taken == until {
                io.stop();
            }
        };
        events.run_for(&mut handler, WaitStrategy::Block, patience()).unwrap();
        assert_eq!(taken, until);
    }
    taken
}

pub fn several_feeds_go_into_one_buffer_without_allocation<K: Kernel>(kernel: K) {
    let mut events = events(kernel);
    let mut feeds = Feeds::new(1000);
    let to = ["127.0.0.1", "::1", "127.0.0.1"].map(|host| unicast(&mut events, &mut feeds, host).1);
    let senders = [at("127.0.0.1:0"), at("[::1]:0"), at("127.0.0.1:0")];
    let senders = senders.map(|at| events.io().datagram(&at, &DatagramOptions::default()).unwrap());
    let mut send = |io: &mut Io<K>, feed: usize, bytes: &[u8]| {
        assert_eq!(io.send_to(senders[feed], bytes, Some(&to[feed])), Ok(true));
    };
    play(&mut events, &mut feeds, &mut send, (3, 100));
    let mut taken = 0;
    let allocations = allocation_counter::measure(|| {
        taken = play(&mut events, &mut feeds, &mut send, (3, 500));
    });
    assert_eq!((taken, allocations.count_total, feeds.overrun()), (1500, 0, 0));
    // A packet that finds no room is counted, and none of the others is cut.
    for _ in 0..20 {
        events.io().send_to(senders[0], &[7; 100], Some(&to[0])).unwrap();
    }
    let mut arrived = 0;
    until(&mut events, "twenty packets", |_, completion| {
        arrived += u32::from(feeds.handle(completion));
        arrived == 20
    });
    let mut kept = 0;
    while let Some(packet) = feeds.head() {
        assert!(packet.feed == 0 && packet.bytes == [7; 100] && packet.received_utc.is_some());
        feeds.consume();
        kept += 1;
    }
    assert_eq!((kept, feeds.overrun()), (8, 12));
}

/// An interface that takes multicast, with an address of the family; its datagrams have no hop to
/// go and reach this host alone.
fn interface(ipv6: bool) -> Option<(Interface, IpAddr)> {
    let is_wanted = |at: &IpAddr| match at {
        IpAddr::V4(_) => !ipv6,
        IpAddr::V6(at) => ipv6 && !at.is_unicast_link_local(),
    };
    let found = interfaces().expect("interfaces").into_iter().find_map(|interface| {
        let at = interface.addresses.iter().copied().find(is_wanted)?;
        interface.multicast.then_some((interface, at))
    });
    if found.is_none() {
        println!("skipped: no multicast interface, ipv6 {ipv6}");
    }
    found
}

/// A group of this network that no other process uses, on a port that no other test of this one
/// does.
fn own(group: IpAddr) -> SocketAddr {
    let [.., middle, low] = std::process::id().to_be_bytes();
    let group = match group {
        IpAddr::V4(group) => {
            let [first, second, ..] = group.octets();
            IpAddr::from([first, second, middle, low])
        }
        IpAddr::V6(group) => {
            let mut segments = group.segments();
            segments[7] = u16::from_be_bytes([middle, low]);
            IpAddr::from(segments)
        }
    };
    SocketAddr::new(group, own_address().port())
}

fn open<K: Kernel>(
    io: &mut Io<K>,
    (group, interface): (&str, u32),
    (source, from): (Option<IpAddr>, Option<IpAddr>),
) -> (Feed, Handle) {
    let group = own(group.parse().unwrap());
    let feed = Feed { interface, source, ..Feed::new(group) };
    let sender = FeedSender { group, source: from, interface, hops: 0, loopback: true };
    (feed, sender.open(io).expect("sender"))
}

pub fn a_multicast_feed_is_received_and_left_without_allocation<K: Kernel>(kernel: K) {
    let mut events = events(kernel);
    for (ipv6, group) in [(false, "239.255.77.9"), (true, "ff12::779")] {
        let Some((interface, _)) = interface(ipv6) else { continue };
        let (feed, sender) = open(events.io(), (group, interface.index), (None, None));
        let mut feeds = Feeds::new(4096);
        feeds.open(events.io(), &feed).expect(group);
        let mut send = |io: &mut Io<K>, _: usize, bytes: &[u8]| {
            assert_eq!(io.send_to(sender, bytes, None), Ok(true));
        };
        play(&mut events, &mut feeds, &mut send, (1, 100));
        let mut taken = 0;
        let allocations = allocation_counter::measure(|| {
            taken = play(&mut events, &mut feeds, &mut send, (1, 500));
        });
        assert_eq!((taken, allocations.count_total), (500, 0), "{group}");
        feed.leave(events.io(), feeds.sockets()[0]).expect("leave");
        send(events.io(), 0, b"nobody");
        let mut handler = |_: &mut Io<K>, completion: Completion<'_>| panic!("{completion:?}");
        events.run_for(&mut handler, WaitStrategy::Block, Nanos::from_millis(2)).unwrap();
        assert!(feed.leave(events.io(), feeds.sockets()[0]).is_err(), "left already");
    }
    let nowhere = Feed { interface: 99_999, ..Feed::new("239.255.77.9:1".parse().unwrap()) };
    let before = events.io().source_count();
    assert!(nowhere.open(events.io()).is_err());
    let mut handler = |_: &mut Io<K>, _: Completion<'_>| {};
    events.poll(&mut handler).unwrap();
    assert_eq!(events.io().source_count(), before, "what could not join is closed");
}

pub fn a_source_specific_feed_takes_its_source_alone<K: Kernel>(kernel: K) {
    let mut events = events(kernel);
    for (ipv6, group) in [(false, "232.1.77.9"), (true, "ff32::8000:779")] {
        let Some((interface, source)) = interface(ipv6) else { continue };
        let other: IpAddr = if ipv6 { "2001:db8::9" } else { "192.0.2.9" }.parse().unwrap();
        for (wanted, arrives) in [(source, true), (other, false)] {
            let sources = (Some(wanted), Some(source));
            let (feed, sender) = open(events.io(), (group, interface.index), sources);
            let mut feeds = Feeds::new(4096);
            feeds.open(events.io(), &feed).expect(group);
            assert_eq!(events.io().send_to(sender, b"tick", None), Ok(true));
            let mut handler = |io: &mut Io<K>, completion: Completion<'_>| {
                assert!(feeds.handle(&completion));
                io.stop();
            };
            let span = if arrives { patience() } else { Nanos::from_millis(2) };
            events.run_for(&mut handler, WaitStrategy::Block, span).unwrap();
            assert_eq!(feeds.head().is_some(), arrives, "{group} from {wanted}");
        }
    }
}

pub fn a_socket_opened_elsewhere_is_adopted<K: Kernel>(kernel: K) {
    let mut events = events(kernel);
    let any = at("127.0.0.1:0");
    let socket = Socket::datagram(&any, &DatagramOptions::default()).unwrap();
    let to = socket.local_address().unwrap();
    let adopted = events.io().adopt_datagram(socket, false).unwrap();
    events.io().receive(adopted).unwrap();
    let options = DatagramOptions { peer: to.inet(), ..DatagramOptions::default() };
    let sender = Socket::datagram(&any, &options).unwrap();
    sender.send(b"passed on").unwrap();
    until(&mut events, "the datagram", |_, completion| {
        matches!(completion, Completion::Datagram { socket, bytes: b"passed on", .. }
            if *socket == adopted)
    });
    let options = taut_sys::StreamOptions::default();
    let listener = Socket::listen(&any, &options).unwrap();
    let to = listener.local_address().unwrap();
    events.io().adopt_listener(listener, &options, &Admission::OPEN).unwrap();
    events.io().connect(&to, &options, None).unwrap();
    until(&mut events, "the connection", |_, completion| {
        matches!(completion, Completion::Accepted { .. })
    });
}
