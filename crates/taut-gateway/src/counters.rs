//! Counters that another process can read while they count.

use taut_sync::atomic::{AtomicU64, Ordering};

macro_rules! counters {
    ($(#[$doc:meta])* $name:ident { $($(#[doc = $field_doc:literal])* $field:ident,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct $name {
            $($(#[doc = $field_doc])* pub $field: u64,)*
        }

        impl $name {
            /// Words that they take in shared memory.
            pub const WORDS: usize = [$(stringify!($field)),*].len();

            /// Writes them where another process reads them. Relaxed: each counter is exact by
            /// itself, and all of them together once the writer has stopped.
            pub fn store(&self, words: &[AtomicU64]) {
                let values = [$(self.$field),*];
                for (word, value) in words.iter().zip(values) {
                    word.store(value, Ordering::Relaxed);
                }
            }

            /// Each with its name.
            #[must_use]
            pub fn named(&self) -> [(&'static str, u64); Self::WORDS] {
                [$((stringify!($field), self.$field)),*]
            }

            /// What each of [`named`](Self::named) counts, in a sentence or two.
            pub const MEANINGS: [&'static str; Self::WORDS] =
                [$(concat!($($field_doc),*).trim_ascii()),*];

            /// Reads what another process wrote.
            #[must_use]
            pub fn load(words: &[AtomicU64]) -> Self {
                let mut words = words.iter();
                let mut next = || words.next().map_or(0, |word| word.load(Ordering::Relaxed));
                Self { $($field: next(),)* }
            }
        }
    };
}

counters! {
    /// What a gateway counts.
    GatewayCounters {
        /// Packets of the incremental feed that were applied in their turn.
        ticks,
        /// Packets that a snapshot covered.
        recovered,
        /// Those of them that the first snapshots covered: sent before the gateway was there, or
        /// before all of its books were sound.
        recovered_at_start,
        /// The highest packet number that was seen.
        highest_seen,
        /// Gaps that opened.
        gaps,
        /// Snapshots that were loaded.
        snapshots,
        /// Packets that line A brought.
        line_a,
        /// Those of them that were new.
        line_a_first,
        /// Packets that line B brought.
        line_b,
        /// Those of them that were new.
        line_b_first,
        /// How often a line fell silent.
        silences,
        /// Books whose channel brought nothing for too long while others did.
        silent_channels,
        /// Requests for packets that both lines had lost.
        retransmit_requests,
        /// Packets that such requests brought, and that were new.
        retransmitted,
        /// Packets that were no packets of this feed.
        malformed,
        /// Frames that the venue does not document, and changes of an unknown kind.
        unknown_frames,
        /// Books that were made stale because their best bid was not below their best offer.
        crossed_books,
        /// Books that were made stale because they had not the venue's checksum.
        checksums_failed,
        /// Levels for which a book had no room.
        levels_refused,
        /// Numbers of trades that were jumped over, where a venue numbers them one by one.
        trades_missed,
        /// Connections to market data that ended unasked, or could not be made.
        stream_disconnects,
        /// Books that were subscribed to anew.
        resubscriptions,
        /// Requests for market data that the venue refused.
        stream_refusals,
        /// Channels that the venue left out of what it granted.
        channels_not_granted,
        /// How often more single orders rested in a book than there is room for: none of it are
        /// told until they fit.
        book_order_overflows,
        /// Receive calls of the feed's sockets that failed: such a line is silent for now.
        receive_errors,
        /// How often the feed's other addresses were taken.
        feed_backups,
        /// 1 while the book can be trusted.
        live,
        /// Price levels of the bid side.
        bid_levels,
        /// Price levels of the offer side.
        ask_levels,
        /// 1 while orders can be sent.
        logged_on,
        /// New orders sent.
        orders,
        /// Acknowledgements.
        acks,
        /// New orders that the venue refused.
        order_rejects,
        /// New orders that the pre-trade checks refused.
        risk_rejects,
        /// Other requests that the gateway refused.
        refused,
        /// Fills.
        fills,
        /// Charges of the venue that are in no position: in another currency than the instrument's.
        uncounted_charges,
        /// Cancel requests sent.
        cancel_requests,
        /// Orders whose cancel waits: until its budget has it, the venue reads, or one request for
        /// many has had its time.
        waiting_cancels,
        /// Orders cancelled at our request.
        cancels,
        /// Cancel requests that the venue refused.
        cancel_rejects,
        /// Orders that the venue cancelled unasked.
        expired,
        /// Reports that said nothing new: told again, or late.
        repeated_reports,
        /// Requests without an answer.
        unanswered,
        /// Requests for another price or quantity sent.
        modify_requests,
        /// Those that the venue granted.
        replaced,
        /// Those that it refused.
        modify_rejects,
        /// Requests that the venue refused for another reason than those below, or for none.
        rejected_other,
        /// Refused by the venue: a post-only order would have traded at once.
        rejected_would_trade,
        /// Refused by the venue: the instrument is halted or the market closed.
        rejected_halted,
        /// Refused by the venue: it has no such instrument.
        rejected_unknown_symbol,
        /// Refused by the venue: the price is off tick or out of limits.
        rejected_price,
        /// Refused by the venue: the quantity is off lot or out of limits.
        rejected_quantity,
        /// Refused by the venue: one of its limits (open orders, worth, position).
        rejected_limit,
        /// Refused by the venue: not enough money or margin.
        rejected_balance,
        /// Refused by the venue: the order is over.
        rejected_too_late,
        /// Refused by the venue: it has no such order.
        rejected_unknown_order,
        /// Refused by the venue: an id was used before.
        rejected_duplicate,
        /// Refused by the venue: another change of the order is under way there.
        rejected_pending,
        /// Refused by the venue: it does not take such terms or requests.
        rejected_unsupported,
        /// Refused by the venue: the account is unknown or not allowed to.
        rejected_account,
        /// Refused by the venue: too many requests in a time.
        rejected_rate_limit,
        /// Requests whose outcome is not known.
        lost_requests,
        /// How often all positions were compared with the venue's.
        position_comparisons,
        /// How often the venue was asked for positions and did not say.
        positions_untold,
        /// Positions that were other ones at the venue.
        position_differences,
        /// Those that were made the venue's.
        positions_repaired,
        /// Answers to the question where orders stand.
        status_reports,
        /// Reports of orders that are not ours.
        foreign_reports,
        /// Troubles with orders and reports, which are in the quarantine.
        troubles,
        /// Connections to the order entry that ended unasked.
        disconnects,
        /// Reports, and requests that left all the same, which the order journal could not take.
        unjournalled,
        /// Reports of the venue's drop copies that were read.
        drop_copies_read,
        /// Those that said what the order session had not said.
        drop_copy_corrections,
        /// Drop copies that were lost because their thread was too far behind.
        drop_copies_lost,
        /// Strategies that were dropped because they left their replies unread.
        strategies_dropped,
    }
}

counters! {
    /// What a strategy's process counts.
    StrategyCounters {
        /// Market events that it saw.
        events,
        /// Market events that it lost because it was overtaken.
        lapped,
        /// Requests that it made.
        requests,
        /// Order updates that it saw.
        updates,
        /// Requests that were not taken because the gateway had not read those before.
        full,
        /// Events of the market ring that it has behind it, those that it lost included.
        position,
        /// Rounds of housekeeping, each about a millisecond after the last one while it is busy and
        /// at most 50 when it sleeps: whoever counts lives.
        beats,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_explains_every_name_of_the_gateways_counters_in_their_order() {
        let page = include_str!("../../../docs/gateway.md");
        let (_, section) = page.split_once("## What is counted").expect("the section");
        let section = section.split_once("\n## ").map_or(section, |(section, _)| section);
        let names = section.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next());
        let named = GatewayCounters::default().named().map(|(name, _)| name);
        assert_eq!(names.collect::<Vec<_>>(), named);
    }

    #[test]
    fn what_is_stored_loads() {
        let words: [AtomicU64; StrategyCounters::WORDS] =
            core::array::from_fn(|_| AtomicU64::new(0));
        let counters =
            StrategyCounters { events: 1, lapped: 2, updates: 4, beats: 7, ..<_>::default() };
        counters.store(&words);
        assert_eq!(StrategyCounters::load(&words), counters);
        assert_eq!(StrategyCounters::load(&words[..1]).events, 1);
    }
}
