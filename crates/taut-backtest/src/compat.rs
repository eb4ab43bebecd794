//! Where another backtester's exchange differs from ours, by name.

/// What a simulated exchange does as hftbacktest 2.4.4 does it, where that is not what an exchange
/// does. Each is off by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Compat {
    /// Only an order that is filled whole reaches position and balance, with its last part alone:
    /// partial fills do not, and of an order that takes from several levels there is one response.
    /// Ours answers and books each part. (hftbacktest issues 299 and 316.)
    pub partial_fills_unbooked: bool,
    /// A partial fill of exactly what an order has left leaves the order in the queue; the next
    /// one is [`BacktestError::FilledTwice`](crate::BacktestError::FilledTwice). Of what earlier
    /// partial fills left the dust of floats decides, for which the exchange has to know the lot
    /// ([`Recording::with_lot`](crate::Recording::with_lot)). (Issues 301, 312.)
    pub keeps_exact_fills: bool,
    /// An order that is entered anew because of a modification has the lots that its sender knew it
    /// to have left, whatever the modification asks for, and the response to one that keeps its
    /// place has the status that the sender knew.
    pub modify_keeps_leaves: bool,
    /// When levels up to a price are cleared, the next best is looked for from two ticks behind it.
    pub clear_skips_a_tick: bool,
    /// Own orders do not see each other: each is filled by all of a trade. Ours take what those
    /// before them leave.
    pub own_orders_share_trades: bool,
    /// What own orders take from a level is there for the next one again. Ours is gone until the
    /// recording says something new about the level.
    pub taking_leaves_levels: bool,
    /// What a good-till-cancel order finds no level for is filled at its limit at once (of a buy
    /// also what stands at its limit). Ours rests.
    pub remainder_fills_at_limit: bool,
    /// A market order looks at 100 ticks, a selling one at 101. Ours at the whole book.
    pub market_sees_100_ticks: bool,
    /// Where rows are about orders: own orders that are better than the market's best are filled
    /// before it only when there are fewer own orders than ticks between, and not at all by a trade
    /// at the best itself.
    pub better_orders_wait: bool,
    /// Where rows are about orders: an order modified to a price that crosses rests there.
    pub modify_never_crosses: bool,
    /// Any response about an order ends the request that is under way, not its answer alone.
    pub any_response_answers: bool,
}

impl Compat {
    /// None of it.
    pub const NONE: Self = Self {
        partial_fills_unbooked: false,
        keeps_exact_fills: false,
        modify_keeps_leaves: false,
        clear_skips_a_tick: false,
        own_orders_share_trades: false,
        taking_leaves_levels: false,
        remainder_fills_at_limit: false,
        market_sees_100_ticks: false,
        better_orders_wait: false,
        modify_never_crosses: false,
        any_response_answers: false,
    };

    /// All of it: the same requests give hftbacktest's responses, row for row.
    pub const HFTBACKTEST: Self = Self {
        partial_fills_unbooked: true,
        keeps_exact_fills: true,
        modify_keeps_leaves: true,
        clear_skips_a_tick: true,
        own_orders_share_trades: true,
        taking_leaves_levels: true,
        remainder_fills_at_limit: true,
        market_sees_100_ticks: true,
        better_orders_wait: true,
        modify_never_crosses: true,
        any_response_answers: true,
    };
}
