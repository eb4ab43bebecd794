//! The eleven faults of the program that showed how useful leased UDP is and how it must not be
//! done (ll-udp-pubsub, its head f17e57c), and the tests that hold each of them here.

/// A fault by its number, and the tests' names.
const FAULTS: [(&str, &[&str]); 11] = [
    ("1: it does not build", &["fault_1_it_builds_from_its_lock_file"]),
    (
        "2: a subscriber before its publisher panics",
        &[
            "fault_2_a_subscriber_before_its_publisher_waits_and_asks_again",
            "either_side_may_start_first_and_everything_arrives",
        ],
    ),
    (
        "3: a datagram of one byte panics the subscriber",
        &[
            "fault_3_a_malformed_datagram_to_the_subscriber_is_dropped_and_counted",
            "no_datagram_is_a_panic_or_a_lease",
        ],
    ),
    (
        "4: a malformed datagram ends the leases, a forged one makes a reflector or cuts off",
        &[
            "fault_4_malformed_and_forged_datagrams_harm_neither_publisher_nor_subscribers_nor",
            "no_address_gets_more_bytes_than_it_sent_before_it_showed_its_cookie",
            "a_forged_good_bye_cuts_nobody_off",
            "there_is_room_for_so_many_and_the_next_one_is_told",
            "both_ends_report_exactly_what_happened_over_any_link_and_through_any_restart",
        ],
    ),
    ("5: closing hangs", &["fault_5_close_ends_while_subscribers_go_on_renewing"]),
    (
        "6: late messages are not dropped as was asked",
        &[
            "fault_6_what_is_missing_twice_or_late_is_told_and_dropped_only_when_asked",
            "what_comes_late_is_marked_or_dropped_as_it_was_asked",
        ],
    ),
    (
        "7: datagrams are fragmented, a larger one panics",
        &[
            "fault_7_a_message_longer_than_a_datagram_is_refused_with_the_limit",
            "a_message_that_the_path_does_not_carry_in_one_piece_is_refused_with_size_limit",
        ],
    ),
    (
        "8: it waits behind each message of a burst",
        &["fault_8_a_burst_is_taken_in_one_poll_without_waiting_in_between"],
    ),
    ("9: a wait strategy is a build", &["fault_9_every_wait_strategy_is_there_in_one_binary"]),
    (
        "10: a message of another type is taken for one of ours",
        &["fault_10_a_message_of_another_length_is_not_taken_for_one_of_ours"],
    ),
    (
        "11: no multicast, and work for every message that need not be",
        &[
            "fault_11_multicast_is_a_mode_one_datagram_for_any_number_of_subscribers",
            "a_group_carries_one_stream_to_several_subscribers",
            "nothing_allocates_once_it_is_open",
        ],
    ),
];

#[test]
fn every_fault_has_its_tests() {
    let sources = [
        include_str!("lease.rs"),
        include_str!("../../../taut-cli/tests/tools/channel/lease.rs"),
        include_str!("../../../taut-lease/src/tests.rs"),
        include_str!("../../../taut-lease/src/tests/simulation.rs"),
    ];
    for (fault, tests) in FAULTS {
        for test in tests {
            let head = format!("#[test]\nfn {test}");
            assert!(sources.iter().any(|source| source.contains(&head)), "{fault}: no test {test}");
        }
    }
}
