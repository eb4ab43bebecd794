//! The last message of each topic, for who subscribes late.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use crate::publisher::config::{LastValueConfig, LastValueKey};

/// Topics and their last messages, as frames.
#[derive(Debug)]
pub struct LastValues {
    config: LastValueConfig,
    values: BTreeMap<Vec<u8>, Vec<u8>>,
}

impl LastValues {
    /// Empty.
    pub fn new(config: LastValueConfig) -> Self {
        Self { config, values: BTreeMap::new() }
    }

    /// Keeps a message; `false` when its topic found no place. A topic's first message allocates.
    pub fn keep(&mut self, first_part: &[u8], frames: &[u8]) -> bool {
        let topic = match self.config.key {
            LastValueKey::FirstPart => first_part,
            LastValueKey::FirstBytes(count) => first_part.get(..count).unwrap_or(first_part),
        };
        if let Some(value) = self.values.get_mut(topic) {
            value.clear();
            value.extend_from_slice(frames);
            return true;
        }
        let fits = self.values.len() < self.config.topics_max;
        if fits {
            self.values.insert(topic.to_vec(), frames.to_vec());
        }
        fits
    }

    /// The messages whose first part starts with the prefix.
    pub fn matching<'a>(&'a self, prefix: &'a [u8]) -> impl Iterator<Item = &'a [u8]> {
        // A prefix may be longer than a topic's key: then the message itself decides.
        let key = match self.config.key {
            LastValueKey::FirstPart => prefix,
            LastValueKey::FirstBytes(count) => prefix.get(..count).unwrap_or(prefix),
        };
        self.values
            .range::<[u8], _>((core::ops::Bound::Included(key), core::ops::Bound::Unbounded))
            .take_while(move |(topic, _)| topic.starts_with(key))
            .map(|(_, frames)| frames.as_slice())
            .filter(move |frames| first_body(frames).starts_with(prefix))
    }
}

fn first_body(frames: &[u8]) -> &[u8] {
    match crate::frame::FrameHeader::parse(frames) {
        Ok(Some(header)) => {
            let end = header.frame_bytes().unwrap_or(0);
            frames.get(header.header_bytes..end).unwrap_or(&[])
        }
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_message_of_each_topic_under_a_prefix_is_found() {
        let config = LastValueConfig { key: LastValueKey::FirstBytes(3), topics_max: 2 };
        let mut values = LastValues::new(config);
        assert!(values.keep(b"BTC1", b"\0\x04BTC1"));
        assert!(values.keep(b"BTC2", b"\0\x04BTC2"));
        assert!(values.keep(b"ETH1", b"\0\x04ETH1"));
        assert!(!values.keep(b"SOL1", b"\0\x04SOL1"), "a third topic");
        let found = |prefix: &[u8]| values.matching(prefix).map(<[u8]>::to_vec).collect::<Vec<_>>();
        assert_eq!(found(b""), [b"\0\x04BTC2", b"\0\x04ETH1"]);
        assert_eq!(found(b"B"), [b"\0\x04BTC2"]);
        assert_eq!(found(b"BTC2"), [b"\0\x04BTC2"]);
        assert!(found(b"BTC1").is_empty() && found(b"X").is_empty());
    }
}
