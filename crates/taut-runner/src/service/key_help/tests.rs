//! Every key that a file can have is explained.

use serde::de::{DeserializeOwned, Deserializer, Error, Visitor};
use serde::forward_to_deserialize_any;

use super::*;
use crate::service::binance::BinanceKeys;
use crate::service::copy_reader::CopyReaderKeys;
use crate::service::deribit::DeribitKeys;
use crate::service::drop_copy::DropCopyKeys;
use crate::service::feed_backup::FeedBackupKeys;
use crate::service::file::{
    BINANCE_GATEWAY_SAMPLE, DERIBIT_GATEWAY_SAMPLE, GATEWAY_SAMPLE, GatewayFile,
    OKX_GATEWAY_SAMPLE, SessionKeys, StrategySettings,
};
use crate::service::journal::JournalKeys;
use crate::service::limits::{AccountSettings, GatewayRisk, SymbolRule, UserSettings};
use crate::service::member_copies::MemberCopyKeys;
use crate::service::okx::OkxKeys;
use crate::service::proxy::ProxyKeys;
use crate::service::record::RecordKeys;
use crate::service::recordings::RecordingSettings;
use crate::service::subscribe_rule::SubscribeRule;
use crate::service::venue::{FlowSettings, VENUE_SAMPLE, VenueFile};
use crate::settings::{GatewaySettings, InstrumentSettings, RemoteVenue};

/// Hears which fields a struct is read from, and reads nothing.
struct Fields<'f>(&'f mut Vec<&'static str>);

#[derive(Debug)]
struct Heard;

impl std::fmt::Display for Heard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("heard")
    }
}

impl std::error::Error for Heard {}

impl Error for Heard {
    fn custom<T: std::fmt::Display>(_: T) -> Self {
        Self
    }
}

impl<'de> Deserializer<'de> for Fields<'_> {
    type Error = Heard;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Heard> {
        Err(Heard)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, Heard> {
        self.0.extend_from_slice(fields);
        Err(Heard)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option
        unit unit_struct newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

fn fields<T: DeserializeOwned>() -> Vec<&'static str> {
    let mut fields = Vec::new();
    let _ = T::deserialize(Fields(&mut fields));
    assert!(!fields.is_empty(), "{}", std::any::type_name::<T>());
    fields
}

#[track_caller]
fn check<T: DeserializeOwned>(help: &[KeyHelp], table: &str) {
    let mut untold = Vec::new();
    for field in fields::<T>() {
        let path = if table.is_empty() { field.to_owned() } else { format!("{table}.{field}") };
        let found = help.iter().find(|help| {
            // A table by its head, or written in one line.
            help.path == path || help.path.starts_with(&format!("{path}."))
        });
        if found.is_none_or(|found| found.path == path && found.words.is_empty()) {
            untold.push(path);
        }
    }
    assert_eq!(untold, [""; 0], "no sample says what these are for");
}

#[test]
fn every_key_of_a_gateways_file_is_explained() {
    let help = key_help(&[
        GATEWAY_SAMPLE,
        DERIBIT_GATEWAY_SAMPLE,
        BINANCE_GATEWAY_SAMPLE,
        OKX_GATEWAY_SAMPLE,
    ]);
    check::<GatewayFile>(&help, "");
    check::<RemoteVenue>(&help, "venue");
    check::<DeribitKeys>(&help, "deribit");
    check::<BinanceKeys>(&help, "binance");
    check::<OkxKeys>(&help, "okx");
    check::<ProxyKeys>(&help, "proxy");
    check::<FeedBackupKeys>(&help, "feed_backup");
    // An instrument's weight is a venue's alone.
    let all = [GATEWAY_SAMPLE, VENUE_SAMPLE];
    check::<InstrumentSettings>(&key_help(&all), "instruments");
    check::<SubscribeRule>(&help, "subscribe");
    check::<UserSettings>(&help, "users");
    check::<AccountSettings>(&help, "accounts");
    check::<SymbolRule>(&help, "symbols");
    check::<StrategySettings>(&help, "strategies");
    check::<SessionKeys>(&help, "session");
    check::<JournalKeys>(&help, "journal");
    check::<RecordKeys>(&help, "record");
    check::<DropCopyKeys>(&help, "drop_copy");
    check::<CopyReaderKeys>(&help, "drop_copy_reader");
    check::<GatewaySettings>(&help, "gateway");
    check::<GatewayRisk>(&help, "risk");
}

#[test]
fn every_key_of_a_venues_file_is_explained() {
    let help = key_help(&[VENUE_SAMPLE]);
    check::<VenueFile>(&help, "");
    check::<FlowSettings>(&help, "flow");
    check::<MemberCopyKeys>(&help, "drop_copy");
    check::<RecordingSettings>(&help, "recordings");
}

#[test]
fn keys_share_what_stands_above_the_first_of_them() {
    let sample = "# A name\nname = \"a\"\n\n# Of a table\n# [risk]\n# id = 1\n# How many,\n\
                  # at the most\n# lots_max = 7\n# worth_max = 8\n# Another\n# list = [1, 2]\n";
    let help = key_help(&[sample, "name = \"b\"\n"]);
    let told: Vec<_> = help
        .iter()
        .map(|it| (it.path.as_str(), it.example.as_str(), it.words.join("|"), it.is_set))
        .collect();
    let words = |text: &str| text.to_owned();
    assert_eq!(
        told,
        [
            ("name", "\"a\"", words("A name"), true),
            ("risk", "[risk]", words("Of a table"), false),
            ("risk.id", "1", words("Of a table"), false),
            ("risk.lots_max", "7", words("How many,|at the most"), false),
            ("risk.worth_max", "8", words("How many,|at the most"), false),
            ("risk.list", "[1, 2]", words("Another"), false),
        ]
    );
}
