//! What a venue is told when it is built.

use std::ops::Not;

use taut_engine::PostOnly;
use taut_fix::CompId;
use taut_market_data::feed::RetransmitConfig;
use taut_market_data::native::PACKET_BYTES_MAX;
use taut_types::{Instrument, InstrumentId, Nanos, Price};

use crate::bands::PriceBands;
use crate::error::VenueError;
use crate::lines::FeedLoss;
use crate::members::{Member, ORDERS_PER_SECOND_MAX, Protection};
use crate::phases::{DAY, ScheduledPhase};
use crate::version::FixVersion;

/// Sources of an observer, unless it is told otherwise.
pub(crate) const OBSERVED: usize = 8;

/// A venue's instruments, sizes and habits. Start from [`VenueConfig::new`] and change what
/// differs.
#[derive(Clone, Debug)]
pub struct VenueConfig {
    /// What is traded. OrderQty (38) is a whole number of the lot of its Symbol (55): of units
    /// where that has no decimals, of 0.00000001 coins where it has eight.
    pub instruments: Vec<Instrument>,
    /// How many orders of an instrument may rest at once. An instrument takes its memory with its
    /// first order.
    pub order_capacity: usize,
    /// How many price levels a side of an instrument may have.
    pub level_capacity: usize,
    /// The venue's CompID: a client's TargetCompID (56).
    pub comp_id: CompId,
    /// Names this run in every packet: a random number tells an old run's packets apart.
    pub stream_id: u32,
    /// From the start of one snapshot cycle, which goes round all instruments, to the next.
    pub snapshot_interval: Nanos,
    /// How many packets of a cycle are sent at once: the venue is away for that long.
    pub snapshot_burst_packets: usize,
    /// From one such burst to the next, so that a receiver's socket buffer can hold a cycle.
    pub snapshot_burst_interval: Nanos,
    /// After this silence on the incremental channel a heartbeat repeats the last sequence number.
    pub heartbeat_interval: Nanos,
    /// What is remembered for retransmission, and who may have how much of it.
    pub retransmit: RetransmitConfig,
    /// What the lines lose on purpose: nothing, unless somebody wants to see it.
    pub loss: FeedLoss,
    /// The most flow commands in one poll: what an order waits for at the worst.
    pub flow_commands_per_poll: u32,
    /// A client that leaves, however it does, takes its orders with it. Otherwise they stay, and
    /// are its own when it is back.
    pub cancel_on_disconnect: bool,
    /// The FIX sequence numbers start again with every Logon. Otherwise they go on, and what a
    /// client has missed is sent again when it asks for it.
    pub reset_on_logon: bool,
    /// The versions of FIX in which clients may trade.
    pub fix_versions: Vec<FixVersion>,
    /// What becomes of a post-only order (ExecInst 6) that would trade.
    pub post_only: PostOnly,
    /// A client whose unread reports exceed this is disconnected.
    pub pending_bytes_max: usize,
    /// ClOrdIDs that a client may use before the memory for them grows.
    pub cl_ord_id_capacity: usize,
    /// Who may log on, and the limits of each; with none everybody may, without limits.
    pub members: Vec<Member>,
    /// How far the prices of instruments may go; of those that are not named, as far as they like.
    pub bands: Vec<PriceBands>,
    /// The phases of a day. Without any, instruments trade until somebody halts them.
    pub schedule: Vec<ScheduledPhase>,
    /// For how many sources of an [`Observer`](crate::Observer) the loop has room.
    pub observer_sources: usize,
}

impl VenueConfig {
    /// The habits of `taut demo`: room for 65,536 orders on 8,192 levels a side of an instrument,
    /// which is for a few of them (20 MB each; 0.3 MB with 512 and 128), a snapshot every 250 ms,
    /// a heartbeat after 50 ms, 2,048 packets remembered (3 MB), cancel on disconnect.
    #[must_use]
    pub fn new(instruments: Vec<Instrument>, comp_id: CompId, stream_id: u32) -> Self {
        Self {
            instruments,
            order_capacity: 1 << 16,
            level_capacity: 1 << 13,
            comp_id,
            stream_id,
            snapshot_interval: Nanos::from_millis(250),
            snapshot_burst_packets: 8,
            snapshot_burst_interval: Nanos::from_micros(200),
            heartbeat_interval: Nanos::from_millis(50),
            retransmit: RetransmitConfig {
                packet_count: 2_048,
                packet_bytes: PACKET_BYTES_MAX,
                requester_count: 64,
                burst_bytes: 1 << 20,
                bytes_per_second: 4 << 20,
            },
            loss: FeedLoss { a_per_mille: 0, b_per_mille: 0, seed: 0 },
            flow_commands_per_poll: 64,
            cancel_on_disconnect: true,
            reset_on_logon: true,
            fix_versions: FixVersion::ALL.to_vec(),
            post_only: PostOnly::Reject,
            pending_bytes_max: 1 << 20,
            cl_ord_id_capacity: 1 << 17,
            members: Vec::new(),
            bands: Vec::new(),
            schedule: Vec::new(),
            observer_sources: OBSERVED,
        }
    }

    pub(crate) fn check(&self) -> Result<(), VenueError> {
        let refuse = |setting, remedy| Err(VenueError::Config { setting, remedy });
        if self.fix_versions.is_empty() {
            return refuse("fix_versions", "at least one");
        }
        let mut numbers: Vec<_> = self.instruments.iter().map(|it| it.id()).collect();
        numbers.sort_unstable();
        let mut symbols: Vec<_> =
            self.instruments.iter().map(|it| it.symbol().as_bytes().to_vec()).collect();
        symbols.sort_unstable();
        if self.instruments.is_empty() {
            return refuse("instruments", "one at least");
        }
        if numbers.is_sorted_by(|a, b| a < b).not() || symbols.is_sorted_by(|a, b| a < b).not() {
            return refuse("instruments", "different in their numbers and in their symbols");
        }
        if self.order_capacity == 0 || self.level_capacity == 0 {
            return refuse("order_capacity or level_capacity", "room for one order at least");
        }
        if self.order_capacity >= u32::MAX as usize || self.level_capacity >= 1 << 31 {
            return refuse("order_capacity or level_capacity", "at most 2^31 levels and orders");
        }
        if self.snapshot_interval <= Nanos::ZERO || self.heartbeat_interval <= Nanos::ZERO {
            return refuse("snapshot_interval or heartbeat_interval", "more than zero");
        }
        if self.loss.a_per_mille.max(self.loss.b_per_mille) > 1_000 {
            return refuse("loss", "at most 1000 in 1000");
        }
        if self.post_only == PostOnly::No {
            return refuse("post_only", "Reject or Slide");
        }
        if self.snapshot_burst_packets == 0 || self.flow_commands_per_poll == 0 {
            return refuse("snapshot_burst_packets or flow_commands_per_poll", "more than zero");
        }
        self.check_members()?;
        self.check_phases()
    }

    fn check_phases(&self) -> Result<(), VenueError> {
        let refuse = |setting, remedy| Err(VenueError::Config { setting, remedy });
        let is_listed = |id: InstrumentId| self.instruments.iter().any(|it| it.id() == id);
        for bands in &self.bands {
            if !is_listed(bands.instrument) {
                return refuse("bands: instrument", "one that is traded here");
            }
            if bands.limits.is_some_and(|(low, high)| low > high) {
                return refuse("bands: limits", "the lowest price and the highest one");
            }
            if bands.dynamic.is_some_and(|distance| distance <= Price(0)) {
                return refuse("bands: dynamic", "more than zero");
            }
            let is_no_time = bands.interruption.is_some_and(|span| span <= Nanos::ZERO);
            if is_no_time || bands.interruption.is_some() && bands.dynamic.is_none() {
                return refuse("bands: interruption", "more than zero, beside a dynamic band");
            }
        }
        for scheduled in &self.schedule {
            if !scheduled.instruments.iter().flatten().all(|id| is_listed(*id)) {
                return refuse("schedule: instruments", "some that are traded here");
            }
            if !(0..DAY).contains(&scheduled.at.0) {
                return refuse("schedule: at", "a time of the day, less than 24 hours");
            }
        }
        Ok(())
    }

    fn check_members(&self) -> Result<(), VenueError> {
        let refuse = |setting, remedy| Err(VenueError::Config { setting, remedy });
        let mut names: Vec<_> = self.members.iter().map(|it| it.comp_id.as_bytes()).collect();
        names.sort_unstable();
        if !names.is_sorted_by(|a, b| a < b) {
            return refuse("members", "different in their CompIDs");
        }
        for member in &self.members {
            let is_listed = |id| self.instruments.iter().any(|it| it.id() == id);
            if !member.instruments.iter().flatten().all(|id| is_listed(*id)) {
                return refuse("members: instruments", "some that are traded here");
            }
            if member.orders_per_second_max.is_some_and(|it| it == 0 || it > ORDERS_PER_SECOND_MAX)
            {
                return refuse("members: orders_per_second_max", "1 to 1000000");
            }
            let is_none = |it: Protection| it.quantity.mantissa <= 0 || it.within <= Nanos::ZERO;
            if member.protection.is_some_and(is_none) {
                return refuse("members: protection", "more than zero, within more than zero");
            }
        }
        Ok(())
    }
}
