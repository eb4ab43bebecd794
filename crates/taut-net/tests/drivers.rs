//! Each driver on each kernel that has real sockets.
#![forbid(unsafe_code)]

#[path = "drivers/connecting.rs"]
mod connecting;
#[path = "drivers/datagrams.rs"]
mod datagrams;
#[path = "drivers/files.rs"]
mod files;
#[path = "drivers/rig.rs"]
mod rig;

use taut_io::{EpollKernel, UringKernel};

/// Every case on one kernel; `$kernel` makes it, or `None` where this machine has none.
macro_rules! suite {
    ($name:ident, $kernel:expr) => {
        mod $name {
            use super::*;

            macro_rules! case {
                ($module:ident, $case:ident) => {
                    #[test]
                    fn $case() {
                        match $kernel {
                            Some(kernel) => $module::$case(kernel),
                            None => println!("skipped: no such kernel on this machine"),
                        }
                    }
                };
            }

            case!(connecting, a_name_is_looked_up_and_its_addresses_are_tried_in_turn);
            case!(connecting, localhost_is_found_by_the_systems_resolver);
            case!(connecting, a_name_without_an_address_fails_by_name);
            case!(connecting, every_address_refused_fails_with_the_last_refusal);
            case!(connecting, a_resolver_that_hangs_holds_nobody_up_and_ends_at_the_deadline);
            case!(connecting, a_given_up_connection_leaves_nothing_behind);
            case!(connecting, a_dual_stack_listener_takes_both_families);
            case!(connecting, a_smaller_buffer_than_asked_is_noticed);
            case!(files, a_plain_file_is_read_chunk_by_chunk_between_other_work);
            case!(files, a_pipe_carries_bytes_and_ends);
            case!(files, a_unix_listener_replaces_what_the_dead_left_and_respects_the_living);
            case!(files, frames_are_cut_from_a_stream_by_the_loop);
            case!(datagrams, several_feeds_go_into_one_buffer_without_allocation);
            case!(datagrams, a_multicast_feed_is_received_and_left_without_allocation);
            case!(datagrams, a_source_specific_feed_takes_its_source_alone);
            case!(datagrams, a_socket_opened_elsewhere_is_adopted);
        }
    };
}

const SOURCES: usize = 64;

suite!(epoll, EpollKernel::new(SOURCES).ok());
suite!(uring, UringKernel::new(SOURCES).inspect_err(|refused| println!("{refused}")).ok());
