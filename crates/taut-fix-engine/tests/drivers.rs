//! Acceptor and initiators on one loop, on every kernel; the simulated one cuts the bytes anywhere
//! and has a clock of its own.
#![forbid(unsafe_code)]

#[path = "drivers/cases.rs"]
mod cases;
#[path = "drivers/rig.rs"]
mod rig;
#[path = "drivers/tls.rs"]
mod tls;

use taut_io::{EpollKernel, SimConfig, SimKernel, UringKernel};

/// Every case on one kernel; `$kernel` makes it, or `None` where this machine has none.
macro_rules! suite {
    ($name:ident, $kernel:expr) => {
        mod $name {
            use super::*;

            macro_rules! case {
                ($module:ident::$case:ident) => {
                    #[test]
                    fn $case() {
                        match $kernel {
                            Some(kernel) => $module::$case(kernel),
                            None => println!("skipped: no such kernel on this machine"),
                        }
                    }
                };
            }

            case!(cases::two_hundred_sessions_share_a_port);
            case!(cases::the_second_connection_of_a_live_identity_is_closed_without_a_word);
            case!(
                cases::a_session_that_logged_out_logs_on_again_before_its_old_connection_is_closed
            );
            case!(cases::an_initiator_goes_on_to_the_second_address_and_comes_back_after_a_cut);
            case!(cases::a_stranger_without_a_logon_is_closed_in_time);
            case!(cases::who_fails_to_log_on_too_often_is_not_listened_to);
            case!(cases::silent_connections_keep_no_guest_out);
            case!(cases::a_refused_logon_is_told_on_both_sides_with_its_reason);
            case!(cases::a_message_beyond_the_limit_ends_the_session);
            case!(cases::a_peer_that_does_not_read_is_disconnected_with_a_reason);
            case!(cases::a_resend_of_more_than_fits_goes_out_as_the_peer_takes_it);
            case!(cases::strangers_use_no_dynamic_session_up);
            case!(cases::a_closing_acceptor_logs_out_of_every_session);
            case!(cases::closed_hours_are_waited_for);
            case!(tls::both_sides_of_a_session_over_tls);
            case!(tls::a_certificate_of_another_root_is_refused_in_words);
            case!(tls::a_certificate_for_another_name_is_refused_in_words);
            case!(tls::a_client_must_show_the_certificate_that_is_asked_for);
            case!(tls::a_client_without_tls_is_refused);
        }
    };
}

const SOURCES: usize = 512;

suite!(epoll, EpollKernel::new(SOURCES).ok());
suite!(uring, UringKernel::new(SOURCES).inspect_err(|refused| println!("{refused}")).ok());
suite!(sim, Some(SimKernel::new(SOURCES, SimConfig::default())));
