//! Which listener meets whom, and what it may take.

use crate::attacks::{self, Run};
use crate::good::{
    FIX, FIX_TLS, FOLLOWER, Good, HTTP, PUBLISHER, SUBSCRIBER, WEB_FIX, WEBSOCKET, WEBSOCKET_TLS,
};
use crate::listener::Listener;

/// One kind of peers.
pub struct Attack {
    pub name: &'static str,
    /// How many of them act at the same time.
    pub threads: u64,
    /// What the listener may take for them.
    pub memory_mib_max: u64,
    /// What it may take of a CPU for each of them, in a build that is not optimised; none where
    /// what they send is what costs, however few they are.
    pub cpu_us_max: Option<u64>,
    pub run: Run,
}

/// A listener, and all who come to it.
pub struct Stage {
    pub name: &'static str,
    pub listen: fn(taut: &str) -> Listener,
    pub good: Good,
    /// Open descriptors of the listener's process.
    pub open_max: u64,
    /// What it may keep when all have left.
    pub kept_mib_max: u64,
    pub attacks: &'static [Attack],
}

const fn attack(name: &'static str, threads: u64, memory_mib_max: u64, run: Run) -> Attack {
    Attack { name, threads, memory_mib_max, cpu_us_max: Some(CPU_US_MAX), run }
}

/// Peers that send more than a handshake.
const fn senders(name: &'static str, threads: u64, memory_mib_max: u64, run: Run) -> Attack {
    Attack { cpu_us_max: None, ..attack(name, threads, memory_mib_max, run) }
}

/// For a stranger over TCP: to let it in, read the beginning of a handshake, and close it. Over TLS
/// a signature and a key exchange come on top.
const CPU_US_MAX: u64 = 2_000;

/// All stages.
pub const STAGES: &[Stage] = &[
    Stage {
        name: "zmtp-publisher",
        listen: |_| Listener::of_zmtp("publisher"),
        good: SUBSCRIBER,
        open_max: 1_024 + 32,
        kept_mib_max: 192,
        attacks: &[
            attack("silent", 2, 48, attacks::silent),
            attack("storm", 2, 48, attacks::storm),
            attack("garbage", 2, 48, attacks::garbage),
            attack("trickle", 2, 48, attacks::trickle_zmtp),
            senders("deaf subscribers", 1, 256, attacks::deaf_subscribers),
            senders("many subscriptions", 2, 192, attacks::many_subscriptions),
        ],
    },
    Stage {
        name: "zmtp-subscriber",
        listen: |_| Listener::of_zmtp("subscriber"),
        good: PUBLISHER,
        open_max: 1_024 + 32,
        kept_mib_max: 64,
        attacks: &[
            attack("silent", 2, 48, attacks::silent),
            attack("storm", 2, 48, attacks::storm),
            attack("garbage", 2, 48, attacks::garbage),
            senders("endless messages", 2, 160, attacks::endless_messages),
            senders("unfinished messages", 2, 384, attacks::unfinished_messages),
        ],
    },
    Stage {
        name: "websocket",
        listen: Listener::of_websocket,
        good: WEBSOCKET,
        open_max: 1_024 + 32,
        kept_mib_max: 96,
        attacks: &[
            attack("silent", 2, 64, attacks::silent),
            attack("storm", 2, 64, attacks::storm),
            attack("garbage", 2, 64, attacks::garbage),
            attack("trickle", 2, 64, attacks::trickle_websocket),
            senders("great promises", 2, 96, attacks::great_promises),
            senders("deaf echoes", 2, 768, attacks::deaf_echoes),
        ],
    },
    Stage {
        name: "tls-websocket",
        listen: Listener::of_websocket_tls,
        good: WEBSOCKET_TLS,
        open_max: 1_024 + 32,
        kept_mib_max: 192,
        attacks: &[
            attack("silent", 2, 192, attacks::silent),
            attack("storm", 2, 192, attacks::storm),
            attack("garbage", 2, 192, attacks::garbage),
            attack("trickle", 2, 192, attacks::trickle_tls),
            attack("split hellos", 2, 192, attacks::split_hellos),
            attack("half handshakes", 2, 192, attacks::half_handshakes),
            attack("broken records", 2, 192, attacks::broken_records),
            attack("silent in TLS", 2, 192, attacks::silent_tls),
        ],
    },
    Stage {
        name: "fix",
        listen: Listener::of_fix,
        good: FIX,
        // Its sessions, those that it may make, and 1,024 that log on.
        open_max: 3 + 256 + 1_024 + 32,
        kept_mib_max: 96,
        attacks: &[
            attack("silent", 2, 96, attacks::silent),
            attack("storm", 2, 96, attacks::storm),
            attack("garbage", 2, 96, attacks::garbage),
            attack("trickle", 2, 96, attacks::trickle_fix),
            attack("wrong Logons", 2, 96, attacks::wrong_logons),
        ],
    },
    Stage {
        name: "tls-fix",
        listen: Listener::of_fix_tls,
        good: FIX_TLS,
        open_max: 3 + 256 + 1_024 + 32,
        kept_mib_max: 224,
        attacks: &[
            attack("silent", 2, 224, attacks::silent),
            attack("storm", 2, 224, attacks::storm),
            attack("garbage", 2, 224, attacks::garbage),
            attack("trickle", 2, 224, attacks::trickle_tls),
            attack("split hellos", 2, 224, attacks::split_hellos),
            attack("half handshakes", 2, 224, attacks::half_handshakes),
            attack("broken records", 2, 224, attacks::broken_records),
            attack("silent in TLS", 2, 224, attacks::silent_tls),
        ],
    },
    Stage {
        name: "venue-orders",
        listen: Listener::of_venue,
        good: FIX,
        open_max: VENUE_OPEN_MAX,
        kept_mib_max: 32,
        attacks: &[
            attack("silent", 2, 32, attacks::silent),
            attack("storm", 2, 32, attacks::storm),
            attack("garbage", 2, 32, attacks::garbage),
            attack("trickle", 2, 32, attacks::trickle_fix),
            attack("wrong Logons", 2, 32, attacks::wrong_names),
        ],
    },
    Stage {
        name: "drop-copies",
        listen: Listener::of_drop_copies,
        good: FIX,
        open_max: VENUE_OPEN_MAX,
        kept_mib_max: 96,
        attacks: &[
            attack("silent", 2, 96, attacks::silent),
            attack("storm", 2, 96, attacks::storm),
            attack("garbage", 2, 96, attacks::garbage),
            attack("trickle", 2, 96, attacks::trickle_fix),
            attack("wrong Logons", 2, 96, attacks::wrong_logons),
        ],
    },
    Stage {
        name: "web-http",
        listen: Listener::of_web_http,
        good: HTTP,
        open_max: WEB_OPEN_MAX,
        kept_mib_max: 32,
        attacks: &[
            attack("silent", 2, 32, attacks::silent),
            attack("storm", 2, 32, attacks::storm),
            attack("garbage", 2, 32, attacks::garbage),
            attack("trickle", 2, 32, attacks::trickle_http),
            attack("idle", 2, 32, attacks::idle_http),
            senders("deaf", 2, 64, attacks::deaf_http),
        ],
    },
    Stage {
        name: "web-fix",
        listen: Listener::of_web_fix,
        good: WEB_FIX,
        open_max: WEB_OPEN_MAX,
        kept_mib_max: 96,
        attacks: &[
            attack("silent", 2, 96, attacks::silent),
            attack("storm", 2, 96, attacks::storm),
            attack("garbage", 2, 96, attacks::garbage),
            attack("trickle", 2, 96, attacks::trickle_fix),
            attack("wrong keys", 2, 96, attacks::wrong_keys),
        ],
    },
    Stage {
        name: "recorded-stream",
        listen: Listener::of_stream,
        good: FOLLOWER,
        // Its clients, and the venue's own.
        open_max: 256 + 32,
        kept_mib_max: 32,
        attacks: &[
            attack("silent", 2, 32, attacks::silent),
            attack("storm", 2, 32, attacks::storm),
            attack("garbage", 2, 32, attacks::garbage),
            attack("trickle", 2, 32, attacks::trickle_websocket),
            senders("greedy followers", 1, 32, attacks::greedy_followers),
        ],
    },
];

/// Its members or readers, who logs on, and what it has open besides.
const VENUE_OPEN_MAX: u64 = 8 + 1_024 + 64;
/// Its clients, and what it has open besides.
const WEB_OPEN_MAX: u64 = 512 + 32;
