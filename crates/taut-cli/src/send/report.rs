//! What `taut send` reports.

use std::fmt;

use serde::Serialize;

use crate::channel::counted::{Counted, Subscriber};
use crate::send::sender::Sender;
use taut_report::Spread;

/// What `taut send` did.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    pub channel: String,
    pub sent: u64,
    /// Those that said the end of the stream: messages too, which the channel counts.
    pub end_messages: u64,
    pub back_pressured: u64,
    pub repaired: u64,
    pub seconds: f64,
    /// Messages that a policy dropped, over all subscribers; of channels that have one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dropped: Option<u64>,
    /// What each was sent and did not get, with those that left.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub subscribers: Vec<Subscriber>,
    /// Of pings alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub round_trip_ns: Option<Spread>,
    /// Pings that were not answered, of pings alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unanswered: Option<u64>,
    /// Of `--counters` alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counters: Option<Counted>,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { channel, sent, end_messages, back_pressured, repaired, seconds, .. } = self;
        write!(
            f,
            "{channel}: {sent} messages and {end_messages} that said the end, in {seconds:.3} s, \
             back-pressured {back_pressured} times, {repaired} repaired"
        )?;
        if let Some(spread) = &self.round_trip_ns {
            write!(f, "\nround trip {}", spread.line())?;
        }
        for subscriber in &self.subscribers {
            write!(f, "\n{subscriber}")?;
        }
        if let Some(counters) = &self.counters {
            counters.fmt(f)?;
        }
        self.unanswered.map_or(Ok(()), |lost| write!(f, "\n{lost} unanswered"))
    }
}

impl Report {
    /// What a publication did.
    pub fn new(sender: &Sender<'_>, sent: u64, seconds: f64) -> Self {
        let publication = &sender.publication;
        let counters = publication.counters();
        let subscribers = Subscriber::all(publication);
        Self {
            channel: sender.uri.to_string(),
            sent,
            end_messages: sender.end_messages,
            back_pressured: counters.back_pressured,
            repaired: counters.repaired,
            seconds,
            dropped: (!subscribers.is_empty()).then_some(counters.dropped),
            subscribers,
            round_trip_ns: None,
            unanswered: None,
            counters: sender.arguments.end.counters.then_some(Counted(counters)),
        }
    }
}
