//! What `taut send` reports.

use std::fmt;

use serde::Serialize;
use taut_channel::SubscriberCounters;

use crate::channel::counted::Counted;
use crate::channel::latency::Spread;
use crate::send::sender::Sender;

/// What `taut send` did.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    pub channel: String,
    pub sent: u64,
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
        let Self { channel, sent, back_pressured, repaired, seconds, .. } = self;
        write!(
            f,
            "{channel}: {sent} messages in {seconds:.3} s, back-pressured {back_pressured} times, \
             {repaired} repaired"
        )?;
        if let Some(spread) = &self.round_trip_ns {
            write!(f, "\nround trip {}", spread.line())?;
        }
        for Subscriber { peer, sent, dropped, waiting, waiting_bytes } in &self.subscribers {
            write!(f, "\n{peer}: {sent} sent, {dropped} dropped, {waiting} waiting")?;
            write!(f, " ({waiting_bytes} bytes)")?;
        }
        if let Some(counters) = &self.counters {
            counters.fmt(f)?;
        }
        self.unanswered.map_or(Ok(()), |lost| write!(f, "\n{lost} unanswered"))
    }
}

/// One subscriber of a channel that counts for each.
#[derive(Clone, Debug, Serialize)]
pub struct Subscriber {
    /// Its address, or `local`.
    pub peer: String,
    pub sent: u64,
    pub dropped: u64,
    /// Messages that it did not get before the end, where a queue holds them.
    pub waiting: u64,
    /// Bytes that it did not get, or did not read.
    pub waiting_bytes: u64,
}

impl Report {
    /// What a publication did.
    pub fn new(sender: &Sender<'_>, sent: u64, seconds: f64) -> Self {
        let publication = &sender.publication;
        let counters = publication.counters();
        let subscribers: Vec<_> = publication.subscribers().iter().map(Subscriber::from).collect();
        Self {
            channel: sender.uri.to_string(),
            sent,
            back_pressured: counters.back_pressured,
            repaired: counters.repaired,
            seconds,
            dropped: (!subscribers.is_empty()).then_some(counters.dropped),
            subscribers,
            round_trip_ns: None,
            unanswered: None,
            counters: sender.arguments.counters.then_some(Counted(counters)),
        }
    }
}

impl From<&SubscriberCounters> for Subscriber {
    fn from(counters: &SubscriberCounters) -> Self {
        let SubscriberCounters { peer, sent, dropped, waiting, waiting_bytes, .. } = *counters;
        let peer = peer.map_or("local".to_owned(), |peer| peer.to_string());
        Self { peer, sent, dropped, waiting, waiting_bytes }
    }
}
