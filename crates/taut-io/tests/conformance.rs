//! One suite, generic over the three kernels.
#![forbid(unsafe_code)]

#[path = "conformance/admission.rs"]
mod admission;
#[path = "conformance/cases.rs"]
mod cases;
#[path = "conformance/rig.rs"]
mod rig;

use taut_io::{EpollKernel, SimConfig, SimKernel, UringKernel};

/// Every case on one kernel; `$kernel` makes it, or `None` where this machine has none.
macro_rules! suite {
    ($name:ident, $kernel:expr) => {
        mod $name {
            use super::*;

            macro_rules! case {
                ($case:ident) => {
                    case!(cases::$case);
                };
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

            case!(bytes_pass_both_ways_and_every_operation_completes);
            case!(every_split_of_an_exchange_arrives_whole);
            case!(writes_complete_in_order_behind_a_slow_reader);
            case!(a_half_close_lets_the_other_direction_go_on);
            case!(a_graceful_close_sends_what_was_written_first);
            case!(a_closing_stream_leaves_no_timer_and_without_one_it_closes_at_once);
            case!(a_refused_connection_completes_as_failed_and_closed);
            case!(closing_completes_whatever_was_under_way);
            case!(cancelling_completes_and_receiving_can_start_again);
            case!(a_receive_deadline_fires_as_a_typed_error);
            case!(a_write_deadline_closes_a_stream_whose_peer_does_not_read);
            case!(a_connection_closed_in_the_same_batch_is_not_heard_of_again);
            case!(a_flood_does_not_starve_the_others);
            case!(a_handler_that_always_posts_starves_nobody);
            case!(timers_go_off_in_order_repeat_without_drift_and_cancel_themselves);
            case!(datagrams_arrive_whole_with_their_sender);
            case!(a_watched_datagram_socket_is_told_until_it_is_read_dry);
            case!(what_is_left_unread_is_told_once_a_turn);
            case!(runs_of_datagrams_leave_with_one_call_and_arrive_one_by_one);
            case!(a_watched_stream_is_read_and_written_by_its_owner);
            case!(a_watched_stream_that_is_full_is_told_when_it_takes_more);
            case!(what_is_discarded_is_not_heard_of_again_and_its_place_is_free);
            case!(poll_one_completes_one_thing_at_a_time);
            case!(a_storm_of_reconnects_leaves_nothing_behind);
            case!(draining_ends_the_run);
            case!(a_full_table_accepts_again_when_a_source_closes);
            case!(admission::a_stranger_gives_way_to_a_newcomer_and_who_has_proved_itself_stays);
            case!(admission::a_strangers_deadline_is_moved_by_no_byte);
            case!(admission::the_last_place_of_a_loop_is_kept_for_who_comes_next);
            case!(admission::a_full_loop_takes_the_place_of_another_listeners_stranger);
            case!(admission::a_stream_at_rest_ends_in_its_time_and_strangers_in_theirs);
            case!(admission::a_stranger_that_speaks_is_spared_by_those_who_come_and_say_nothing);
            case!(admission::who_has_come_further_is_served_first);
            case!(admission::many_late_strangers_all_end);
            case!(admission::a_listener_without_a_timer_lets_no_stranger_in);
        }
    };
}

const SOURCES: usize = 256;

suite!(epoll, EpollKernel::new(SOURCES).ok());
suite!(uring, UringKernel::new(SOURCES).inspect_err(|refused| println!("{refused}")).ok());
suite!(sim, Some(SimKernel::new(SOURCES, SimConfig::default())));
suite!(sim_slow, {
    let config = SimConfig { seed: 77, delay_ns_max: 200_000, ..SimConfig::default() };
    Some(SimKernel::new(SOURCES, SimConfig { window_bytes: 700, ..config }))
});

#[test]
fn newcomers_wait_until_those_who_are_there_had_a_turn() {
    let case = admission::newcomers_wait_until_those_who_are_there_had_a_turn;
    EpollKernel::new(SOURCES).map(case).expect("epoll");
}

#[test]
fn a_connection_that_stands_is_in_time_however_late_the_loop_looks() {
    let case = cases::a_connection_that_stands_is_in_time_however_late_the_loop_looks;
    EpollKernel::new(SOURCES).map(case).expect("epoll");
    match UringKernel::new(SOURCES) {
        Ok(kernel) => {
            cases::a_connection_that_stands_is_in_time_however_late_the_loop_looks(kernel)
        }
        Err(refused) => println!("skipped: {refused}"),
    }
}
