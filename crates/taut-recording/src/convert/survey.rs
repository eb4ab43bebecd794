//! What has to be known of all rows before the first is written.

use std::collections::BTreeMap;

use crate::rows::{Row, decimals_of};

/// What a first reading of some rows finds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Survey {
    /// How many there are.
    pub rows: u64,
    /// The decimals that every quantity fits in.
    pub quantity_decimals: u8,
    /// The smallest latency, from the exchange's time to the local one; below zero where the clocks
    /// disagree. None of no rows.
    pub latency_min: Option<i64>,
    /// The rows of each instrument.
    pub instruments: BTreeMap<u32, u64>,
    /// The first and the last local time, with the shift that sets the clocks right left out.
    pub span: Option<(i64, i64)>,
    /// How far rows come behind a later one, by the exchange's clock and by the local one.
    pub lateness: [i64; 2],
    latest: [Option<i64>; 2],
}

impl Survey {
    pub fn add(&mut self, row: &Row) {
        self.rows += 1;
        self.quantity_decimals = self.quantity_decimals.max(decimals_of(row.qty));
        let latency = row.local_at.0.saturating_sub(row.exchange_at.0);
        self.latency_min = Some(self.latency_min.map_or(latency, |least| least.min(latency)));
        let local = row.local_at.0;
        self.span = Some(self.span.map_or((local, local), |(a, b)| (a.min(local), b.max(local))));
        *self.instruments.entry(row.instrument).or_default() += 1;
        let times = [
            row.is_at_exchange().then_some(row.exchange_at.0),
            row.is_local().then_some(row.local_at.0),
        ];
        for ((time, latest), late) in
            times.into_iter().zip(&mut self.latest).zip(&mut self.lateness)
        {
            let Some(time) = time else { continue };
            let last = latest.map_or(time, |latest| latest.max(time));
            *late = (*late).max(last.saturating_sub(time));
            *latest = Some(last);
        }
    }
}
