//! Everything that a gateway counts.

use taut_io::Kernel;
use taut_market_data::FeedHandler;
use taut_oms::VenueReject as R;
use taut_types::Side;

use crate::client::Client;
use crate::counters::GatewayCounters;
use crate::drop_copy::DropCopies;
use crate::gateway::Gateway;
use crate::observer::Observer;
use crate::order_entry::handler::OrderHandler;
use crate::stream::Streams;

impl<C: Client, F: FeedHandler, K: Kernel, O: Observer, H: OrderHandler>
    Gateway<'_, C, F, K, O, H>
{
    /// Everything counted so far.
    #[must_use]
    pub fn counters(&self) -> GatewayCounters {
        let feed = self.core.market.feed().counters();
        let answers = self.core.orders.table().answers();
        let books = || self.core.instruments.iter().filter_map(|it| self.book(it.id()));
        let levels = |side| books().map(|book| book.level_count(side) as u64).sum();
        let rejected = |reason| self.core.orders.reports().rejects(reason);
        let [a, b] = feed.lines;
        let streams = self.core.streams.as_deref();
        let stream = streams.map(Streams::counters).unwrap_or_default();
        GatewayCounters {
            ticks: feed.applied,
            recovered: feed.recovered,
            recovered_at_start: self.core.recovered_at_start,
            highest_seen: feed.highest_seen,
            gaps: feed.gaps,
            snapshots: feed.snapshots,
            line_a: a.packets,
            line_a_first: a.first,
            line_b: b.packets,
            line_b_first: b.first,
            silences: feed.silences,
            silent_channels: feed.channels_silent,
            retransmit_requests: feed.requests,
            retransmitted: feed.retransmitted,
            malformed: feed.malformed,
            unknown_frames: feed.unknown,
            crossed_books: feed.crossed,
            checksums_failed: feed.checksums_failed,
            levels_refused: feed.levels_refused,
            trades_missed: feed.trades_missed,
            stream_disconnects: streams.map_or(0, Streams::disconnects),
            resubscriptions: stream.resubscribed,
            stream_refusals: stream.refused,
            channels_not_granted: stream.not_granted,
            book_order_overflows: feed.order_overflows,
            receive_errors: self.core.feed.receive_errors(),
            feed_backups: self.core.feed.backups_taken(),
            live: self.core.market.is_sound().into(),
            bid_levels: levels(Side::Buy),
            ask_levels: levels(Side::Sell),
            logged_on: self.core.orders.is_active().into(),
            orders: answers.orders,
            acks: answers.acks,
            order_rejects: answers.order_rejects,
            risk_rejects: self.core.orders.risk_rejects(),
            refused: self.core.orders.refused(),
            fills: answers.fills,
            uncounted_charges: self.core.orders.reports().uncounted_charges(),
            cancel_requests: answers.cancel_requests,
            waiting_cancels: self.core.orders.waiting_cancels() as u64,
            cancels: answers.cancels,
            cancel_rejects: answers.cancel_rejects,
            expired: answers.expired,
            repeated_reports: self.core.orders.reports().repeated(),
            unanswered: answers.unanswered(),
            modify_requests: answers.modify_requests,
            replaced: answers.replaced,
            modify_rejects: answers.modify_rejects,
            rejected_other: rejected(R::Other),
            rejected_would_trade: rejected(R::WouldTrade),
            rejected_halted: rejected(R::Halted),
            rejected_unknown_symbol: rejected(R::UnknownSymbol),
            rejected_price: rejected(R::Price),
            rejected_quantity: rejected(R::Quantity),
            rejected_limit: rejected(R::Limit),
            rejected_balance: rejected(R::Balance),
            rejected_too_late: rejected(R::TooLate),
            rejected_unknown_order: rejected(R::UnknownOrder),
            rejected_duplicate: rejected(R::Duplicate),
            rejected_pending: rejected(R::Pending),
            rejected_unsupported: rejected(R::Unsupported),
            rejected_account: rejected(R::Account),
            rejected_rate_limit: rejected(R::RateLimit),
            lost_requests: answers.lost,
            position_comparisons: self.core.orders.position_comparisons().made,
            positions_untold: self.core.orders.position_comparisons().unanswered,
            position_differences: self.core.orders.position_comparisons().differences,
            positions_repaired: self.core.orders.position_comparisons().repaired,
            status_reports: self.core.orders.reports().statuses(),
            foreign_reports: self.core.orders.reports().foreign(),
            troubles: self.core.orders.quarantine().count(),
            disconnects: self.core.orders.disconnects(),
            unjournalled: self.core.orders.journal_missed(),
            drop_copies_read: self.core.orders.copies().read,
            drop_copy_corrections: self.core.orders.copies().corrections,
            drop_copies_lost: self.core.orders.reports().drop_copies().map_or(0, DropCopies::lost),
            strategies_dropped: self.core.client.strategies_dropped(),
        }
    }
}
