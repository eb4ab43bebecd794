//! TLS on the loop, on every kernel; the simulated one cuts the bytes anywhere.
#![forbid(unsafe_code)]

#[path = "tls/cases.rs"]
mod cases;
#[path = "tls/rig.rs"]
mod rig;
#[path = "shared/rig.rs"]
mod shared;

use taut_io::{Completion, EpollKernel, Io, SimConfig, SimKernel, UringKernel, WaitStrategy};

/// Every case on one kernel; `$kernel` makes it, or `None` where this machine has none.
macro_rules! suite {
    ($name:ident, $kernel:expr) => {
        mod $name {
            use super::*;

            macro_rules! case {
                ($case:ident) => {
                    #[test]
                    fn $case() {
                        match $kernel {
                            Some(kernel) => cases::$case(kernel),
                            None => println!("skipped: no such kernel on this machine"),
                        }
                    }
                };
            }

            case!(verifies_the_name_agrees_on_a_protocol_and_carries_bytes_both_ways);
            case!(refuses_a_certificate_for_another_name_and_tells_the_peer);
            case!(refuses_a_certificate_of_an_unknown_root);
            case!(refuses_a_peer_without_a_common_protocol);
            case!(resumes_the_session_of_an_earlier_stream);
            case!(ends_with_a_closing_handshake_and_tells_a_cut_from_an_end);
            case!(a_peer_that_is_silent_fails_the_handshake_at_its_deadline);
            case!(a_slow_reader_is_told_as_a_limit_and_gets_every_byte);
            case!(a_close_that_the_peer_does_not_let_through_ends_at_its_deadline);
            case!(bytes_that_are_no_tls_fail_and_nothing_panics);
            case!(what_came_before_a_broken_record_is_not_lost_with_it);
        }
    };
}

const SOURCES: usize = 16;

suite!(epoll, EpollKernel::new(SOURCES).ok());
suite!(uring, UringKernel::new(SOURCES).inspect_err(|refused| println!("{refused}")).ok());
suite!(sim, Some(SimKernel::new(SOURCES, SimConfig::default())));
suite!(sim_slow, {
    let config = SimConfig { seed: 7, delay_ns_max: 200_000, ..SimConfig::default() };
    Some(SimKernel::new(SOURCES, SimConfig { window_bytes: 700, ..config }))
});

/// Only epoll says that a peer has ended before what came ahead of that is received.
#[test]
fn a_client_that_begins_and_leaves_costs_no_signature() {
    let pki = rig::Pki::new("venue.test");
    let mut rig = rig::Rig::new(EpollKernel::new(SOURCES).expect("epoll"));
    let (near, mut far) = rig.tls((&pki.client(&[]), "venue.test"), &pki.server(&[]));
    // Its hello is on its way.
    let (left, deadline) = (near.tls.stream(), rig.events.io().now() + rig::PATIENCE);
    rig.events.io().close_gracefully(left, deadline).expect("open");
    let (mut answered, mut is_over) = (0, false);
    let mut handler = |io: &mut Io<EpollKernel>, completion: Completion<'_>| {
        match completion {
            Completion::Received { stream, bytes } if stream == left => answered += bytes.len(),
            Completion::Closed { source, .. } if source == left => {
                is_over = true;
                io.stop();
            }
            _ => {}
        }
        far.handle(io, &completion);
        if far.seen.truncated {
            // A stale handle is closed already.
            let _ = io.close(far.tls.stream());
        }
    };
    rig.events.run_for(&mut handler, WaitStrategy::Block, rig::PATIENCE).expect("epoll");
    assert!(is_over && far.seen.truncated, "{:?}", far.seen);
    assert_eq!(answered, 0);
}

#[test]
fn a_configuration_that_does_not_hold_together_is_an_error() {
    use taut_net::{NetError, TlsClientConfig, TlsServerConfig};
    let pki = rig::Pki::new("venue.test");
    for roots in [&b""[..], b"no certificate at all", b"-----BEGIN CERTIFICATE-----\nAAAA\n"] {
        let config = TlsClientConfig::new(roots, &[]);
        assert!(matches!(config, Err(NetError::TlsConfig)));
    }
    let other = rig::Pki::new("venue.test");
    let config = TlsServerConfig::new(pki.chain.as_bytes(), other.key.as_bytes(), &[]);
    assert!(matches!(config, Err(NetError::TlsConfig)), "a key that does not fit");
    let config = TlsServerConfig::new(pki.chain.as_bytes(), pki.key.as_bytes(), &[]).unwrap();
    assert_eq!(format!("{config:?}"), "TlsServerConfig", "no key in what it prints");
}
