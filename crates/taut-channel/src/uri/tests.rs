use super::*;
use taut_types::Nanos;

fn parse(text: &str) -> ChannelUri {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn refuse(text: &str) -> String {
    match text.parse::<ChannelUri>() {
        Ok(uri) => panic!("{text} was taken for {uri:?}"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn every_form_is_the_channel_that_it_names() {
    for (text, scheme, display) in [
        ("ipc:market-data", "ipc", "ipc:market-data"),
        ("aeron:ipc?stream-id=1001", "ipc", "ipc:stream.1001"),
        ("inproc:ticks?capacity=64k", "inproc", "inproc:ticks"),
        ("tcp://127.0.0.1:5555", "zmtp", "tcp://127.0.0.1:5555"),
        ("tcp://*:5555", "zmtp", "tcp://0.0.0.0:5555"),
        ("ipc:///run/feed.sock?connect", "zmtp", "ipc:///run/feed.sock"),
        ("lease:udp?endpoint=[::1]:4000", "lease", "lease:udp?endpoint=[::1]:4000"),
        (
            "aeron:udp?endpoint=localhost:4000|stream-id=-7",
            "aeron",
            "aeron:udp?endpoint=localhost:4000|stream-id=-7",
        ),
    ] {
        let uri = parse(text);
        assert_eq!((uri.scheme(), uri.to_string().as_str()), (scheme, display), "{text}");
    }
}

#[test]
fn a_zmtp_uri_carries_its_end_pattern_prefixes_and_policy() {
    let ChannelUri::Zmtp(uri) = parse(
        "tcp://h:1?bind&pattern=pushpull&subscribe=EUR&subscribe=%00%FF&hwm=7&on-full=conflate",
    ) else {
        panic!("not zmtp");
    };
    assert_eq!((uri.end, uri.pattern, uri.hwm), (Some(ZmtpEnd::Bind), Pattern::PushPull, Some(7)));
    assert_eq!(uri.subscribe, [b"EUR".to_vec(), vec![0, 255]]);
    assert_eq!(uri.on_full, OnFull::Conflate);
    assert!(refuse("tcp://h:1?bind&connect").contains("exclude each other"));
    assert!(refuse("tcp://h:1?hwm=0").contains("at least 1"));
    let ChannelUri::Zmtp(uri) = parse("tcp://h:1") else { panic!("not zmtp") };
    assert_eq!((uri.end, uri.on_full), (None, OnFull::DropNewest));
}

#[test]
fn every_aeron_name_of_the_list_is_read() {
    let ChannelUri::Aeron(uri) = parse(
        "aeron:udp?endpoint=232.1.1.1:4000|interface=127.0.0.1/8|source=127.0.0.1|stream-id=3\
         |control=127.0.0.1:4001|control-mode=dynamic|session-id=-9|term-length=64k|mtu=8192\
         |init-term-id=5|term-id=6|term-offset=64|ttl=3|so-rcvbuf=2m|so-sndbuf=1m|rcv-wnd=128k\
         |fc=min,g:7/2,t:5s,e:100ms|gtag=7|cc=cubic|nak-delay=20us|reliable=false|tether=false\
         |untethered-window-limit-timeout=3ms|untethered-resting-timeout=4s\
         |linger=1s|eos=false|ssc=true|rejoin=false|validate=off",
    ) else {
        panic!("not aeron");
    };
    let flow = FlowControl {
        kind: FlowKind::Min,
        group_tag: Some(7),
        group_size_min: Some(2),
        timeout: Some(Nanos::from_secs(5)),
        evict_after: Some(Nanos::from_millis(100)),
    };
    assert_eq!(uri.flow_control, Some(flow));
    assert_eq!((uri.term_length, uri.mtu, uri.ttl), (Some(65_536), Some(8192), Some(3)));
    assert_eq!((uri.init_term_id, uri.term_id, uri.term_offset), (Some(5), Some(6), Some(64)));
    assert_eq!((uri.group_tag, uri.congestion), (Some(7), Some(Congestion::Cubic)));
    assert_eq!((uri.reliable, uri.tether, uri.validate), (Some(false), Some(false), Some(false)));
    assert_eq!(uri.nak_delay, Some(Nanos::from_micros(20)));
    assert_eq!(uri.untethered_limit_timeout, Some(Nanos::from_millis(3)));
    assert_eq!(uri.untethered_resting_timeout, Some(Nanos::from_secs(4)));
}

#[test]
fn an_unknown_parameter_is_refused_with_the_one_that_was_meant() {
    let unknown = refuse("aeron:udp?endpont=h:1|stream-id=1");
    assert!(unknown.contains("'endpont'; did you mean 'endpoint'?"), "{unknown}");
    assert!(refuse("ipc:x?capcity=1m").contains("did you mean 'capacity'?"));
    assert!(refuse("tcp://h:1?onfull=block").contains("did you mean 'on-full'?"));
    assert!(refuse("lease:udp?endpoint=h:1|colour=red").contains("known are endpoint, group"));
    assert!(refuse("areon:udp?endpoint=h:1").contains("did you mean 'aeron'?"));
}

#[test]
fn secrets_are_named_by_files_and_no_uri_holds_one() {
    for secret in ["secret-key=x", "server-key=x", "password=x", "user=x"] {
        let error = refuse(&format!("tcp://h:1?{secret}"));
        assert!(error.contains("curve") && error.contains("plain"), "{error}");
    }
    let error = refuse("lease:udp?endpoint=h:1|secret=x");
    assert!(error.contains("key"), "{error}");
    let ChannelUri::Zmtp(uri) = parse("tcp://h:1?curve=/run/keys") else { panic!("not zmtp") };
    assert_eq!(uri.curve.as_deref(), Some(std::path::Path::new("/run/keys")));
    assert!(!uri.to_string().contains("keys"), "{uri}");
}

#[test]
fn what_only_aeron_has_is_refused_and_never_ignored() {
    let spy = refuse("aeron-spy:aeron:udp?endpoint=h:1|stream-id=1");
    assert!(spy.contains("Publication::spy"), "{spy}");
    for name in [
        "untethered-linger-timeout=1s",
        "alias=x",
        "tags=1",
        "sparse=true",
        "group=true",
        "max-resend=3",
    ] {
        let error = refuse(&format!("aeron:udp?endpoint=h:1|stream-id=1|{name}"));
        assert!(error.contains("not supported"), "{error}");
        let unknown = refuse("aeron:udp?endpoint=h:1|stream-id=1|colour=red");
        let name = name.split('=').next().expect("a name");
        assert!(unknown.contains("known are endpoint, ") && !unknown.contains(name), "{unknown}");
    }
}

#[test]
fn a_wrong_value_is_named_with_what_would_be_right() {
    for (text, expected) in [
        ("aeron:udp?endpoint=h:1", "'stream-id' is missing"),
        ("aeron:udp?stream-id=1", "'endpoint' is missing"),
        ("aeron:udp?endpoint=h:1|stream-id=1|control-mode=dynamic", "'control' is missing"),
        ("aeron:udp?endpoint=h:1|stream-id=1|source=127.0.0.1", "belongs to a group"),
        ("aeron:udp?endpoint=h:1|stream-id=1|term-length=100k", "term-length=100k is wrong"),
        ("aeron:udp?endpoint=h:1|stream-id=1|mtu=100", "a multiple of 32"),
        ("aeron:udp?endpoint=h:1|stream-id=1|term-id=3", "given together"),
        ("aeron:udp?endpoint=h:1|stream-id=1|untethered-resting-timeout=1s", "tether=false"),
        ("aeron:udp?endpoint=h:1|stream-id=1|fc=min,x:3", "fc=min,x:3 is wrong"),
        ("aeron:udp?endpoint=h:1|stream-id=1|stream-id=2", "given twice"),
        ("aeron:tcp?endpoint=h:1|stream-id=1", "'aeron:tcp' is wrong"),
        ("aeron:ipc", "'stream-id' is missing"),
        ("ipc:a/b", "'a/b' is wrong"),
        ("ipc:", "'' is wrong"),
        ("inproc:x?capacity=5000", "a power of two"),
        ("tcp://nowhere", "'tcp://nowhere' is wrong"),
        ("ipc://", "'ipc://' is wrong"),
        ("lease:udp?endpoint=239.1.1.1:4000", "a group goes into group="),
        ("lease:udp?endpoint=h:1|mtu=70000", "64 to 65507"),
        ("lease:tcp?endpoint=h:1", "'lease:tcp' is wrong"),
        ("", "is no channel scheme"),
    ] {
        let error = refuse(text);
        assert!(error.contains(expected), "{text}: {error}");
    }
}

#[test]
fn no_text_is_a_panic() {
    let pieces = [
        "aeron:",
        "udp",
        "?",
        "|",
        "&",
        "=",
        "endpoint",
        "h:1",
        "stream-id",
        "1",
        "tcp://",
        "ipc:",
        "//",
        "%",
        "é",
        "\0",
        "fc",
        "min,g:",
        "/",
        "k",
        "term-length",
    ];
    let mut state = 7_u64;
    for _ in 0..20_000 {
        let mut text = String::new();
        for _ in 0..(state % 9) {
            state =
                state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
            text.push_str(pieces[(state >> 33) as usize % pieces.len()]);
        }
        state = state.wrapping_add(1);
        if let Err(error) = text.parse::<ChannelUri>() {
            assert!(!error.to_string().is_empty());
        }
    }
}
