//! Binance's spot market: combined streams, snapshots over the WebSocket API. No orders yet.

use std::net::SocketAddr;

use taut_gateway::{FeedInput, FeedStreams, StreamAddress};
use taut_market_data::binance::{BinanceConfig, BinanceFeeds};
use taut_types::{Instrument, Nanos};

use super::address::{WebSocketAt, url_mistake, web_socket};
use super::parts::MarketData;
use crate::error::RunnerError;
use crate::mistakes::Mistake;
use crate::service::binance::{BinanceInterval, BinanceKeys};
use crate::service::file::GatewayFile;

/// Updates of a book that are kept until its snapshot comes.
const UPDATES_KEPT: usize = 1 << 12;

impl BinanceKeys {
    pub(super) fn mistakes(&self, file: &GatewayFile) -> Vec<Mistake> {
        let mut mistakes = Vec::new();
        for (key, url) in [("binance.streams", &self.streams), ("binance.api", &self.api)] {
            mistakes.extend(url_mistake(key, url).map(Mistake::from));
        }
        if !(5..=5_000).contains(&self.snapshot_levels) {
            let value = self.snapshot_levels;
            mistakes.push(Mistake::new("binance.snapshot_levels", value, "from 5 to 5000"));
        }
        if self.silence_ms == 0 {
            mistakes.push(Mistake::new("binance.silence_ms", 0, "above 0"));
        }
        if let Some(ca) = self.ca.as_ref().filter(|ca| !ca.is_file()) {
            let remedy = "a file of certificates in PEM";
            mistakes.push(Mistake::new("binance.ca", ca.display(), remedy));
        }
        for (at, instrument) in file.instruments.iter().enumerate() {
            if let Some(lot) = instrument.lot.as_ref() {
                let remedy = "left out: sizes of Binance have decimals, which lot_decimals counts";
                mistakes.push(Mistake::new(&format!("instruments[{at}].lot"), lot, remedy));
            }
        }
        if !file.is_paper {
            let text = "[binance]: orders do not go there yet; trade on paper, with `--paper`";
            mistakes.push(Mistake::told("binance", text));
        }
        mistakes
    }

    pub(super) fn explain(&self, say: &mut impl FnMut(&str, String)) {
        let Self { streams, api, snapshot_levels, .. } = self;
        say("market data", format!("{} at {streams}", self.channel("SYMBOL")));
        say("", format!("snapshots of {snapshot_levels} levels a side at {api}"));
    }

    fn channel(&self, symbol: &str) -> String {
        match self.interval {
            BinanceInterval::Every100Ms => format!("{symbol}@depth@100ms"),
            BinanceInterval::EverySecond => format!("{symbol}@depth"),
        }
    }

    pub(super) fn market_data(
        &self,
        file: &GatewayFile,
        instruments: &[Instrument],
        now: Nanos,
    ) -> Result<MarketData<BinanceFeeds>, RunnerError> {
        let names: Vec<&str> = file.instruments.iter().map(|it| it.venue_name()).collect();
        let channels: Vec<String> = names
            .iter()
            .map(|name| name.to_ascii_lowercase())
            .map(|name| format!("{}/{name}@trade", self.channel(&name)))
            .collect();
        let ca = self.ca.as_deref();
        let url = format!("{}/stream?streams={}", self.streams, channels.join("/"));
        let stream = web_socket("binance.streams", &url, self.address, ca)?;
        let snapshot = web_socket("binance.api", &self.api, self.address, ca)?;
        let config = |instrument: &Instrument| BinanceConfig {
            level_capacity: file.gateway.levels,
            updates_kept_max: UPDATES_KEPT,
            silence: Nanos::from_millis(self.silence_ms.into()),
            snapshot_limit: Some(self.snapshot_levels as usize),
            ..BinanceConfig::new(*instrument)
        };
        let configs: Vec<(&str, BinanceConfig)> =
            names.iter().copied().zip(instruments.iter().map(config)).collect();
        let handler = BinanceFeeds::new(&configs, now)
            .map_err(|error| RunnerError::run("[[instruments]]", error))?;
        let request = |(number, name): (usize, &&str)| {
            format!(
                "{{\"id\":{number},\"method\":\"depth\",\
                 \"params\":{{\"symbol\":\"{name}\",\"limit\":{}}}}}",
                self.snapshot_levels
            )
        };
        let tls = stream.tls.clone().or_else(|| snapshot.tls.clone());
        let input = FeedInput::Streams(FeedStreams {
            stream: at(stream),
            snapshot: at(snapshot),
            snapshot_requests: names.iter().enumerate().map(request).collect(),
            tls,
        });
        Ok(MarketData { input, handler, backup: None })
    }
}

fn at(web_socket: WebSocketAt) -> StreamAddress {
    let WebSocketAt { found, url, .. } = web_socket;
    StreamAddress { address: SocketAddr::V4(found.first), url }
}
