//! What an end of a channel counted: everything, for `--counters`, and for each subscriber.

use std::fmt;

use serde::{Serialize, Serializer};
use taut_channel::{Counters, Publication, SubscriberCounters};

/// The counters of one end, by their names in the library.
#[derive(Clone, Copy, Debug)]
pub struct Counted(pub Counters);

impl Counted {
    fn all(&self) -> [(&'static str, u64); 16] {
        let Counters { sent, sent_bytes, received, received_bytes, .. } = self.0;
        let Counters { lost, repaired, dropped, evicted, duplicated, reordered, .. } = self.0;
        let Counters { back_pressured, malformed, refused, transfers, .. } = self.0;
        let Counters { injected_losses, poll_gap_ns_max, .. } = self.0;
        [
            ("sent", sent),
            ("sent_bytes", sent_bytes),
            ("received", received),
            ("received_bytes", received_bytes),
            ("lost", lost),
            ("repaired", repaired),
            ("dropped", dropped),
            ("evicted", evicted),
            ("duplicated", duplicated),
            ("reordered", reordered),
            ("back_pressured", back_pressured),
            ("malformed", malformed),
            ("refused", refused),
            ("transfers", transfers),
            ("injected_losses", injected_losses),
            ("poll_gap_ns_max", poll_gap_ns_max),
        ]
    }
}

impl Serialize for Counted {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.all())
    }
}

/// A line for each that is not 0.
impl fmt::Display for Counted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut counted = self.all().into_iter().filter(|(_, value)| *value > 0);
        counted.try_for_each(|(name, value)| write!(f, "\n{name:<16}{value:>20}"))
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

impl Subscriber {
    /// Those of a publication, and those that left it lately.
    pub fn all(publication: &Publication) -> Vec<Self> {
        publication.subscribers().iter().map(Self::from).collect()
    }
}

impl From<&SubscriberCounters> for Subscriber {
    fn from(counters: &SubscriberCounters) -> Self {
        let SubscriberCounters { peer, sent, dropped, waiting, waiting_bytes, .. } = *counters;
        let peer = peer.map_or("local".to_owned(), |peer| peer.to_string());
        Self { peer, sent, dropped, waiting, waiting_bytes }
    }
}

impl fmt::Display for Subscriber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { peer, sent, dropped, waiting, waiting_bytes } = self;
        write!(f, "{peer}: {sent} sent, {dropped} dropped, {waiting} waiting")?;
        write!(f, " ({waiting_bytes} bytes)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_counter_is_in_the_json_and_what_is_0_is_not_printed() {
        let counted = Counted(Counters { sent: 3, poll_gap_ns_max: 70, ..Counters::default() });
        let json = serde_json::to_value(counted).expect("JSON");
        let debug = format!("{:?}", counted.0);
        for (name, value) in counted.all() {
            assert_eq!(json[name], value, "{name}");
            assert!(debug.contains(&format!("{name}: {value}")), "{name}");
        }
        assert_eq!(debug.matches(": ").count(), counted.all().len(), "none is left out");
        assert_eq!(counted.to_string().lines().filter(|line| !line.is_empty()).count(), 2);
    }
}
