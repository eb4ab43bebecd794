//! What `taut receive` reports.

use std::fmt;

use serde::Serialize;

use crate::channel::counted::Counted;
use taut_report::Spread;

/// What was received. Of raw messages neither loss nor latency is known.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    pub channel: String,
    pub received: u64,
    /// Those that said the end of the stream: messages too, which the channel counts.
    pub end_messages: u64,
    pub lost: Option<u64>,
    /// Sent before it listened.
    pub sent_before: Option<u64>,
    pub duplicated: Option<u64>,
    pub out_of_order: Option<u64>,
    pub msgs_per_s: f64,
    pub latency_ns: Option<Spread>,
    pub intended_ns: Option<Spread>,
    pub context_switches: u64,
    pub cpu_seconds: f64,
    /// Of `--counters` alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counters: Option<Counted>,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { channel, received, msgs_per_s, context_switches, cpu_seconds, .. } = self;
        write!(f, "{channel}: {received} messages, {msgs_per_s:.0} a second")?;
        if let (Some(lost), Some(duplicated), Some(late)) =
            (self.lost, self.duplicated, self.out_of_order)
        {
            write!(f, "; {lost} lost, {duplicated} duplicated, {late} out of order")?;
            if let Some(before @ 1..) = self.sent_before {
                write!(f, "; {before} sent before it listened")?;
            }
        }
        if let Some(spread) = &self.latency_ns {
            write!(f, "\nfrom sending    {}", spread.line())?;
        }
        if let Some(spread) = &self.intended_ns {
            write!(f, "\nfrom intention  {}", spread.line())?;
        }
        write!(f, "\n{context_switches} context switches, {cpu_seconds:.3} s of CPU time")?;
        self.counters.map_or(Ok(()), |counters| counters.fmt(f))
    }
}
