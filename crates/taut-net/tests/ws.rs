//! WebSocket on the loop, plain and over TLS, on every kernel; the simulated one cuts the bytes
//! anywhere.
#![forbid(unsafe_code)]

#[path = "ws/cases.rs"]
mod cases;
#[path = "ws/dialled.rs"]
mod dialled;
#[path = "ws/rig.rs"]
mod rig;
#[path = "shared/rig.rs"]
mod shared;
#[path = "ws/steady.rs"]
mod steady;

use taut_io::{EpollKernel, SimConfig, SimKernel, UringKernel};

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

            case!(messages_pass_both_ways_over_a_plain_stream);
            case!(messages_pass_both_ways_over_tls);
            case!(a_message_far_larger_than_what_the_kernel_takes_arrives_whole);
            case!(many_messages_of_one_turn_leave_in_one_write);
            case!(a_peer_that_does_not_read_is_back_pressure_and_nothing_is_lost);
            case!(a_pause_is_back_pressure_to_the_peer_and_no_silence);
            case!(the_client_closes_and_the_server_ends_the_stream_first);
            case!(the_server_closes_and_both_streams_end);
            case!(a_close_over_tls_ends_with_tls_ending);
            case!(a_refused_client_sees_status_and_words);
            case!(a_request_that_nobody_answers_is_refused);
            case!(a_stranger_who_says_nothing_is_gone_at_the_deadline);
            case!(a_peer_that_never_answers_a_close_is_gone_in_time);
            case!(a_cut_stream_is_told_as_a_cut);
            case!(a_silent_peer_is_asked_and_given_up);
            case!(a_violation_is_told_to_the_peer_before_the_end);
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
