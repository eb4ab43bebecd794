//! What can go wrong at a venue, and how often; as words.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What goes wrong, and how often: of a thousand messages or requests. All zero is a good day.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Faults {
    /// The same seed and the same messages give the same faults.
    pub seed: u64,
    /// Instead of a message, or of what leaves a FIX session at once, the connection ends.
    pub disconnect: u32,
    /// A WebSocket message is lost; the answer to an HTTP request is never lost but with its
    /// connection.
    pub drop: u32,
    /// A WebSocket message comes twice.
    pub duplicate: u32,
    /// A WebSocket message comes after the next one of its connection, or within 100 ms.
    pub reorder: u32,
    /// With a message of a book's channel, in JSON, the channel falls silent on its connection: all
    /// of it is lost until the client subscribes to it anew.
    pub mute: u32,
    /// A message has wrong numbers: `change_id`, `U` and `u`, MsgSeqNum (34).
    pub sequence: u32,
    /// Everything is late by up to so many milliseconds, in its order.
    pub delay: u32,
    /// A request that trades is refused: the engine is busy.
    pub reject: u32,
    /// A request is one too many.
    pub rate_limit: u32,
    /// A request over JSON that trades is served, and answered as if nobody knew what became of it.
    pub unknown: u32,
    /// The login of a connection is over with a request that needs one, which is refused.
    pub expire: u32,
    /// From a message on a WebSocket says nothing more and hears nothing, though it stays open and
    /// its pings are answered.
    pub stall: u32,
    /// A WebSocket text has a field that nobody documented.
    pub strange: u32,
    /// The venue's clock is off by up to so many milliseconds, by others from each WebSocket on.
    pub skew: u32,
    /// Of a message some bytes arrive, at least one and never all, and the connection ends.
    pub torn: u32,
    /// A change of a book, in JSON, has a bid above every offer.
    pub cross: u32,
    /// A book that is asked for, at Binance, is the one that was told the last time.
    pub stale: u32,
    /// Every request is refused: the venue is in maintenance.
    pub maintenance: bool,
    /// With the end of a maintenance that this was said with, connections end and ids begin again:
    /// of changes, updates and trades. Orders and what accounts hold stay.
    pub restart: bool,
    /// The first instrument is delisted: its orders are cancelled, and no new one is taken.
    pub delist: bool,
    /// The first instrument has a price step twice as large.
    pub retick: bool,
}

/// The most of a number that counts milliseconds: an hour.
const SKEW_MS_MAX: u32 = 3_600_000;

impl Faults {
    /// Reads `disconnect=1,drop=5,seed=7,maintenance`, or `none`.
    ///
    /// # Errors
    /// The word that is none, and those that are.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut faults = Self::default();
        for word in text.split(',').filter(|word| !word.is_empty()) {
            if word == "none" {
                continue;
            }
            let (name, value) = word.split_once('=').unwrap_or((word, ""));
            let flag = match name {
                "maintenance" => Some(&mut faults.maintenance),
                "restart" => Some(&mut faults.restart),
                "delist" => Some(&mut faults.delist),
                "retick" => Some(&mut faults.retick),
                _ => None,
            };
            if let (Some(flag), true) = (flag, value.is_empty()) {
                *flag = true;
                continue;
            }
            let number: u64 =
                value.parse().map_err(|_| format!("{word}: {name}=N, a whole number"))?;
            if name == "seed" {
                faults.seed = number;
                continue;
            }
            let place = match name {
                "disconnect" => &mut faults.disconnect,
                "drop" => &mut faults.drop,
                "duplicate" => &mut faults.duplicate,
                "reorder" => &mut faults.reorder,
                "mute" => &mut faults.mute,
                "sequence" => &mut faults.sequence,
                "delay" => &mut faults.delay,
                "reject" => &mut faults.reject,
                "rate-limit" => &mut faults.rate_limit,
                "unknown" => &mut faults.unknown,
                "expire" => &mut faults.expire,
                "stall" => &mut faults.stall,
                "strange" => &mut faults.strange,
                "skew" => &mut faults.skew,
                "torn" => &mut faults.torn,
                "cross" => &mut faults.cross,
                "stale" => &mut faults.stale,
                _ => {
                    return Err(format!(
                        "{name}: disconnect, drop, duplicate, reorder, mute, sequence, reject, \
                         rate-limit, unknown, expire, stall, strange, torn, cross, stale (of a \
                         thousand), delay, skew (ms), seed, maintenance, restart, delist, retick \
                         or none"
                    ));
                }
            };
            let most = match name {
                "delay" => 60_000,
                "skew" => SKEW_MS_MAX,
                _ => 1_000,
            };
            *place = u32::try_from(number)
                .ok()
                .filter(|it| *it <= most)
                .ok_or_else(|| format!("{word}: at most {most}"))?;
        }
        Ok(faults)
    }
}

impl fmt::Display for Faults {
    /// As [`Faults::parse`] reads them.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seed, disconnect, drop, duplicate, reorder, mute, .. } = *self;
        let Self { sequence, delay, reject, rate_limit, maintenance, .. } = *self;
        let Self { unknown, expire, stall, strange, skew, torn, cross, stale, .. } = *self;
        let Self { restart, delist, retick, .. } = *self;
        if (Self { seed: 0, ..*self }) == Self::default() {
            return f.write_str("none");
        }
        let numbers = [
            ("disconnect", disconnect),
            ("drop", drop),
            ("duplicate", duplicate),
            ("reorder", reorder),
            ("mute", mute),
            ("sequence", sequence),
            ("delay", delay),
            ("reject", reject),
            ("rate-limit", rate_limit),
            ("unknown", unknown),
            ("expire", expire),
            ("stall", stall),
            ("strange", strange),
            ("skew", skew),
            ("torn", torn),
            ("cross", cross),
            ("stale", stale),
        ];
        for (name, number) in numbers.into_iter().filter(|(_, number)| *number > 0) {
            write!(f, "{name}={number},")?;
        }
        let flags = [
            ("maintenance", maintenance),
            ("restart", restart),
            ("delist", delist),
            ("retick", retick),
        ];
        for (name, _) in flags.into_iter().filter(|(_, is_on)| *is_on) {
            write!(f, "{name},")?;
        }
        write!(f, "seed={seed}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_read_from_words() {
        let words = "disconnect=1,drop=2,duplicate=3,reorder=8,mute=14,sequence=9,delay=40,\
                     reject=5,rate-limit=6,unknown=10,expire=11,stall=12,strange=13,skew=90000,\
                     torn=15,cross=16,stale=17,maintenance,restart,delist,retick,seed=7";
        let read = Faults::parse(words);
        let expected = Faults {
            seed: 7,
            disconnect: 1,
            drop: 2,
            duplicate: 3,
            reorder: 8,
            mute: 14,
            sequence: 9,
            delay: 40,
            reject: 5,
            rate_limit: 6,
            unknown: 10,
            expire: 11,
            stall: 12,
            strange: 13,
            skew: 90_000,
            torn: 15,
            cross: 16,
            stale: 17,
            maintenance: true,
            restart: true,
            delist: true,
            retick: true,
        };
        assert_eq!(read, Ok(expected));
        assert_eq!(expected.to_string(), words);
        assert_eq!(Faults::parse("maintenance").map(|it| it.maintenance), Ok(true));
        assert_eq!(Faults::parse("none"), Ok(Faults::default()));
        assert_eq!(Faults { seed: 3, ..Faults::default() }.to_string(), "none");
        for wrong in ["drop", "drop=x", "drop=1001", "nonsense=1", "maintenance=1", "skew=3600001"]
        {
            assert!(Faults::parse(wrong).is_err(), "{wrong}");
        }
    }
}
