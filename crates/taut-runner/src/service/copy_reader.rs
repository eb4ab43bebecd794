//! The venue's own drop copies, read by a gateway that runs by itself.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use taut_fix_engine::Tell;
use taut_gateway::{CopiedVenue, CopyReader, CopyReaderSettings, VenueCopies};
use taut_net::Target;
use taut_types::Nanos;

use crate::error::RunnerError;
use crate::mistakes::Mistake;
use crate::settings::comp_id;

/// Where the venue's copies of our executions are read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CopyReaderKeys {
    /// `HOST:PORT` of the venue's drop copies: FIX 4.4.
    pub address: String,
    /// SenderCompID (49): who reads.
    pub sender_comp_id: String,
    /// TargetCompID (56); without it VENUE, and SPOT at Binance.
    #[serde(default)]
    pub target_comp_id: Option<String>,
    /// HeartBtInt (108), in seconds.
    #[serde(default = "heartbeat")]
    pub heartbeat_seconds: u16,
    /// The folder of the session's numbers: what was read once is not asked for again. None at
    /// Binance, whose numbers begin again with each connection.
    #[serde(default)]
    pub store: Option<PathBuf>,
    /// How long the order session has to say the same before a copy counts, in milliseconds.
    #[serde(default = "after")]
    pub after_ms: u32,
}

const fn heartbeat() -> u16 {
    5
}

const fn after() -> u32 {
    1_000
}

impl CopyReaderKeys {
    /// Every value that cannot be.
    pub(super) fn mistakes(&self) -> Vec<Mistake> {
        let mut mistakes = Vec::new();
        if Target::parse(&self.address).is_err() {
            let remedy = "HOST:PORT";
            mistakes.push(Mistake::new("drop_copy_reader.address", &self.address, remedy));
        }
        let sender = ("drop_copy_reader.sender_comp_id", &self.sender_comp_id);
        let target = self.target_comp_id.as_ref();
        let target = target.map(|text| ("drop_copy_reader.target_comp_id", text));
        for (key, text) in [Some(sender), target].into_iter().flatten() {
            mistakes.extend(comp_id(key, text).err().map(Mistake::from));
        }
        if self.heartbeat_seconds == 0 {
            mistakes.push(Mistake::new("drop_copy_reader.heartbeat_seconds", 0, "above 0"));
        }
        mistakes
    }

    /// Starts to connect to this venue, whose usual TargetCompID (56) is this; the first half is
    /// the trading thread's, the second one's own.
    pub(super) fn open(
        &self,
        (venue, target): (CopiedVenue, &str),
        tell: Tell,
    ) -> Result<(VenueCopies, CopyReader), RunnerError> {
        let target = self.target_comp_id.as_deref().unwrap_or(target);
        let settings = CopyReaderSettings {
            addresses: vec![self.address.clone()],
            sender_comp_id: comp_id("drop_copy_reader.sender_comp_id", &self.sender_comp_id)?,
            target_comp_id: comp_id("drop_copy_reader.target_comp_id", target)?,
            heartbeat_interval: Nanos::from_secs(self.heartbeat_seconds.into()),
            venue,
            grace: Nanos::from_millis(self.after_ms.into()),
            tell,
        };
        CopyReader::open(settings).map_err(|error| RunnerError::run("drop_copy_reader", error))
    }
}

#[cfg(test)]
mod tests {
    use crate::service::connections::copy_mistakes;
    use crate::service::file::{BINANCE_GATEWAY_SAMPLE, GATEWAY_SAMPLE, GatewayFile};

    /// The table that a sample has behind a hash.
    fn table(sample: &str) -> String {
        let (_, from) = sample.split_once("\n# [drop_copy_reader]\n").expect("the table");
        let lines = from.lines().take_while(|line| !line.is_empty());
        let keys = lines.filter_map(|line| line.strip_prefix("# ")).filter(|it| it.contains(" = "));
        keys.fold("[drop_copy_reader]".to_owned(), |table, key| format!("{table}\n{key}"))
    }

    /// Everything that is wrong with a file whose reader of copies has these keys.
    fn wrong(sample: &str, table: &str) -> Vec<String> {
        let file: GatewayFile = toml::from_str(&format!("{sample}\n{table}\n")).expect(table);
        let keys = file.drop_copy_reader.as_ref().expect("the table");
        let all: Vec<_> = keys.mistakes().into_iter().chain(copy_mistakes(&file, keys)).collect();
        let text = crate::mistakes::error(&all).to_string();
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn a_venue_has_its_own_keys() {
        let (own, binance) = (table(GATEWAY_SAMPLE), table(BINANCE_GATEWAY_SAMPLE));
        assert!(wrong(GATEWAY_SAMPLE, &own).is_empty(), "{own}");
        assert!(wrong(BINANCE_GATEWAY_SAMPLE, &binance).is_empty(), "{binance}");
        let over_fix = BINANCE_GATEWAY_SAMPLE.replace("orders = \"json\"", "orders = \"fix\"");
        for (sample, keys, from, to, words) in [
            (GATEWAY_SAMPLE, &own, "store = ", "# ", "drop_copy_reader.store is missing"),
            (BINANCE_GATEWAY_SAMPLE, &binance, "TAUTDC", "TAUT-COPIES", "one to eight letters"),
            (over_fix.as_str(), &binance, "TAUTDC", "TAUT", "each session has its own"),
            (BINANCE_GATEWAY_SAMPLE, &binance, "= 30", "= 61", "from 5 to 60"),
            (BINANCE_GATEWAY_SAMPLE, &binance, "after_ms", "store = \"x\"\nafter_ms", "store = x"),
            (
                BINANCE_GATEWAY_SAMPLE,
                &binance,
                "after_ms",
                "target_comp_id = \"VENUE\"\nafter_ms",
                "at Binance it is SPOT",
            ),
        ] {
            let wrong = wrong(sample, &keys.replace(from, to));
            assert_eq!(wrong.len(), 1, "{to}: {wrong:?}");
            assert!(wrong[0].contains(words), "{to}: {wrong:?}");
        }
    }
}
