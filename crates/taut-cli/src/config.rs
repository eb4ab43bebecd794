//! `taut config`: every key of the files that processes run by, explained.

use clap::{Subcommand, ValueEnum};
use serde_json::json;
use taut_runner::service::{
    BINANCE_GATEWAY_SAMPLE, BINANCE_VENUE_SAMPLE, DERIBIT_GATEWAY_SAMPLE, DERIBIT_VENUE_SAMPLE,
    GATEWAY_SAMPLE, KeyHelp, OKX_GATEWAY_SAMPLE, STRATEGY_SAMPLE, VENUE_SAMPLE, key_help,
};

use crate::exit::Failure;
use crate::terminal::{print, print_json};

/// Explain the keys of files of settings.
///
/// `taut gateway sample` and its like print whole files to start from; `taut gateway check FILE`
/// and its like check one.
#[derive(Subcommand, Clone, Debug)]
pub enum Config {
    /// Say what each key is for, with a value that it can have
    Explain {
        /// Whose file
        file: FileKind,
        /// The key, such as `risk.lots_max` or `cpu`, or a table of them such as `risk`; without
        /// one all
        key: Option<String>,
        /// Print one line of JSON
        #[arg(long)]
        json: bool,
    },
}

/// A kind of file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FileKind {
    /// Of `taut gateway`, at any venue
    Gateway,
    /// Of `taut venue`
    Venue,
    /// Of `taut venue --as deribit`
    DeribitVenue,
    /// Of `taut venue --as binance`
    BinanceVenue,
    /// Of `taut strategy touch`
    Strategy,
}

impl FileKind {
    /// The samples that hold its keys.
    const fn samples(self) -> &'static [&'static str] {
        match self {
            Self::Gateway => &[
                GATEWAY_SAMPLE,
                DERIBIT_GATEWAY_SAMPLE,
                BINANCE_GATEWAY_SAMPLE,
                OKX_GATEWAY_SAMPLE,
            ],
            Self::Venue => &[VENUE_SAMPLE],
            Self::DeribitVenue => &[DERIBIT_VENUE_SAMPLE],
            Self::BinanceVenue => &[BINANCE_VENUE_SAMPLE],
            Self::Strategy => &[STRATEGY_SAMPLE],
        }
    }
}

/// Explains.
pub fn run(config: &Config) -> Result<(), Failure> {
    let Config::Explain { file, key, json } = config;
    let all = key_help(file.samples());
    let is_meant = |help: &&KeyHelp| match key {
        None => true,
        Some(key) => {
            let rest = help.path.strip_prefix(key.as_str());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        }
    };
    let meant: Vec<&KeyHelp> = all.iter().filter(is_meant).collect();
    if meant.is_empty() {
        let key = key.as_deref().unwrap_or_default();
        let last = key.rsplit('.').next().unwrap_or(key);
        let like = all.iter().map(|help| help.path.as_str()).find(|path| path.ends_with(last));
        let like = like.map_or_else(String::new, |like| format!("; did you mean `{like}`?"));
        return Err(Failure::Usage(format!("'{key}': there is no such key{like}")));
    }
    if *json {
        let keys: Vec<_> = meant.iter().map(|help| key_json(help)).collect();
        return print_json(&json!({ "keys": keys }));
    }
    meant.iter().try_for_each(|help| {
        let KeyHelp { path, example, words, is_set } = help;
        let is = if *is_set { "" } else { "   (may be left out)" };
        print(format_args!("{path} = {example}{is}"))?;
        words.iter().try_for_each(|line| print(format_args!("    {line}")))
    })
}

fn key_json(help: &KeyHelp) -> serde_json::Value {
    let KeyHelp { path, example, words, is_set } = help;
    json!({ "key": path, "example": example, "words": words.join(" "), "is_optional": !is_set })
}
