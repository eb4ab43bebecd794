//! For how many instruments a gateway takes room: those that a reload adds have it.

use crate::mistakes::Mistake;
use crate::service::file::GatewayFile;
use crate::settings::INSTRUMENTS_MAX;

/// The least room for instruments that may come, where the file does not say how much.
const MORE_MIN: usize = 16;

impl GatewayFile {
    /// Whether a gateway of this file takes instruments while it runs: the venue of one on paper
    /// has those that it began with.
    pub(super) const fn takes_instruments(&self) -> bool {
        !self.is_paper
    }

    /// For how many instruments there is room: that of the gateway that runs, or else what the file
    /// says.
    pub(super) fn instruments_max(&self) -> usize {
        let count = self.instruments.len();
        match self.room {
            Some(room) => room,
            None if !self.takes_instruments() => count,
            None => {
                let more = (count / 4).max(MORE_MIN);
                self.gateway.instruments_max.unwrap_or(count + more).max(count)
            }
        }
    }

    /// Room that cannot be.
    pub(super) fn mistakes_of_room(&self) -> Option<Mistake> {
        let (key, room) = ("gateway.instruments_max", self.gateway.instruments_max?);
        let count = self.instruments.len();
        let remedy = match room {
            room if room < count => format!("no less than the {count} instruments that there are"),
            room if !(1..=INSTRUMENTS_MAX).contains(&room) => {
                format!("from 1 to {INSTRUMENTS_MAX}")
            }
            _ => return None,
        };
        Some(Mistake::new(key, room, remedy))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::service::file::{
        BINANCE_GATEWAY_SAMPLE, DERIBIT_GATEWAY_SAMPLE, GATEWAY_SAMPLE, OKX_GATEWAY_SAMPLE,
    };
    use crate::settings::InstrumentSettings;

    /// The sample with so many instruments.
    fn file(count: usize, room: &str) -> GatewayFile {
        let text = GATEWAY_SAMPLE.replace("# instruments_max = 100", room);
        let mut file: GatewayFile = toml::from_str(&text).expect("a file");
        let of = |number| InstrumentSettings {
            symbol: format!("I{number}"),
            ..InstrumentSettings::default()
        };
        file.instruments = (0..count).map(of).collect();
        file
    }

    #[test]
    fn room_is_what_the_file_says_or_a_quarter_more_and_stays_what_it_was() {
        for (count, room, max) in [
            (1, "", 17),
            (64, "", 80),
            (2_000, "", 2_500),
            (2, "instruments_max = 2", 2),
            (2, "instruments_max = 10000", 10_000),
        ] {
            let mut file = file(count, room);
            assert!(file.mistakes_of_room().is_none());
            assert_eq!(file.instruments_max(), max, "{count} {room}");
            let sizes = file.rules().expect("rules").risk.limits.sizes();
            assert_eq!(sizes.instruments, max);
            file.room = Some(max);
            file.instruments.truncate(1);
            assert_eq!(file.instruments_max(), max);
            assert_eq!(file.on_paper().instruments_max(), max);
        }
        assert_eq!(file(5, "instruments_max = 9").on_paper().instruments_max(), 5);
    }

    #[test]
    fn room_that_cannot_be_is_named() {
        for (room, words) in [
            ("instruments_max = 1", "gateway.instruments_max = 1: must be no less than the 2"),
            ("instruments_max = 10001", "from 1 to 10000"),
        ] {
            let wrong = file(2, room).check().expect_err(room).to_string();
            assert!(wrong.contains(words), "{wrong}");
        }
    }

    #[test]
    fn a_gateway_at_another_venue_has_room_as_one_at_tauts_own() {
        for sample in [DERIBIT_GATEWAY_SAMPLE, BINANCE_GATEWAY_SAMPLE, OKX_GATEWAY_SAMPLE] {
            let mut file: GatewayFile = toml::from_str(sample).expect("a file");
            assert!(file.mistakes_of_room().is_none() && file.takes_instruments());
            assert_eq!(file.instruments_max(), file.instruments.len() + MORE_MIN);
            file.gateway.instruments_max = Some(50);
            assert!(file.mistakes_of_room().is_none());
            assert_eq!(file.instruments_max(), 50);
            let paper = file.on_paper();
            assert!(!paper.takes_instruments());
            assert_eq!(paper.instruments_max(), paper.instruments.len());
        }
    }
}
