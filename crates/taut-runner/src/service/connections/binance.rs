//! Binance: combined streams in JSON or SBE, snapshots over the WebSocket API, orders over that or
//! over FIX; of USD-margined futures the market data.

use std::path::Path;

use taut_fix_engine::{TlsNames, TlsSettings};
use taut_gateway::{
    BinanceFix, BinanceOrderSettings, BinanceWs, CopiedVenue, FeedInput, FeedStreams,
    SecondConnection, SnapshotLimits, StreamAddress, SymbolStreams, Transport,
};
use taut_market_data::binance::{BinanceConfig, BinanceFeeds, Encoding};
use taut_net::system_roots;
use taut_oms::Rate;
use taut_types::{Instrument, Nanos};

use super::address::{Named, Served, Way, WebSocketAt, trust, url_mistake};
use super::parts::{
    Connections, MarketData, OrderRoute, channel_silence, channel_silence_mistake, config, refused,
};
use crate::error::RunnerError;
use crate::mistakes::Mistake;
use crate::service::binance::{
    BinanceBest, BinanceEncoding, BinanceInterval, BinanceKeys, BinanceMarket, BinanceOrders,
};
use crate::service::copy_reader::CopyReaderKeys;
use crate::service::file::GatewayFile;
use crate::service::secret::CredentialKind;
use crate::settings::comp_id;

/// Both ends of the order session, as a journal has them: the venue knows none.
const NAME: &str = "TAUT";
const SERVER: &str = "BINANCE";
/// TargetCompID (56) of the FIX interface.
const FIX_SERVER: &str = "SPOT";
/// The longest SenderCompID (49) that it takes.
const SENDER_BYTES_MAX: usize = 8;
/// HeartBtInt (108) that it takes at most.
const FIX_HEARTBEAT_S_MAX: u32 = 60;
/// What the handler takes at the least.
const HEARTBEAT_S_MIN: u32 = 5;
/// What the question about all open orders costs.
const OPEN_ORDERS_WEIGHT: u32 = 200;
/// Where a request for the SBE streams shows the API key.
const KEY_HEADER: &str = "X-MBX-APIKEY";
/// Levels a side that a snapshot of futures can be asked for.
const USD_M_LEVELS: [u32; 7] = [5, 10, 20, 50, 100, 500, 1_000];
/// Updates of a book that are kept until its snapshot comes.
const UPDATES_KEPT: usize = 1 << 12;

impl BinanceKeys {
    pub(super) fn mistakes(&self, file: &GatewayFile) -> Vec<Mistake> {
        let mut mistakes = Vec::new();
        for (key, url) in [("binance.streams", self.streams()), ("binance.api", self.api())] {
            mistakes.extend(url_mistake(key, url).map(Mistake::from));
        }
        if !(5..=5_000).contains(&self.snapshot_levels) {
            let value = self.snapshot_levels;
            mistakes.push(Mistake::new("binance.snapshot_levels", value, "from 5 to 5000"));
        }
        if self.silence_ms == 0 {
            mistakes.push(Mistake::new("binance.silence_ms", 0, "above 0"));
        }
        let key = "binance.channel_silence_ms";
        mistakes.extend(channel_silence_mistake(key, self.channel_silence_ms));
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
        let not_zero = [
            ("orders_per_second", self.orders_per_second),
            ("orders_burst", self.orders_burst),
            ("orders_per_day", self.orders_per_day),
            ("weight_per_second", self.weight_per_second),
            ("snapshot_weight_per_second", self.snapshot_weight_per_second),
        ];
        for (key, _) in not_zero.iter().filter(|(_, value)| *value == 0) {
            mistakes.push(Mistake::new(&format!("binance.{key}"), 0, "above 0"));
        }
        if self.heartbeat_seconds < HEARTBEAT_S_MIN {
            let (value, remedy) = (self.heartbeat_seconds, format!("at least {HEARTBEAT_S_MIN}"));
            mistakes.push(Mistake::new("binance.heartbeat_seconds", value, remedy));
        }
        if self.orders == BinanceOrders::Fix {
            mistakes.extend(self.fix_mistakes());
        }
        if !(1..=60_000).contains(&self.window_ms) {
            let value = self.window_ms;
            mistakes.push(Mistake::new("binance.window_ms", value, "from 1 to 60000"));
        }
        if self.kept_for_cancels.saturating_add(OPEN_ORDERS_WEIGHT) > self.weight_burst {
            let remedy = format!("at least kept_for_cancels and {OPEN_ORDERS_WEIGHT}");
            mistakes.push(Mistake::new("binance.weight_burst", self.weight_burst, remedy));
        }
        let snapshot = self.snapshot_limits().weight;
        if self.snapshot_weight_burst < snapshot {
            let remedy = format!("at least {snapshot}, which a snapshot of these levels costs");
            let value = self.snapshot_weight_burst;
            mistakes.push(Mistake::new("binance.snapshot_weight_burst", value, remedy));
        }
        match self.market {
            BinanceMarket::SpotMarket => mistakes.extend(self.mistake_of_key(file)),
            BinanceMarket::UsdM => mistakes.extend(self.mistakes_of_futures(file.is_paper)),
        }
        if self.encoding == BinanceEncoding::Sbe && self.interval == BinanceInterval::EverySecond {
            let remedy = "left out with encoding = \"sbe\", whose changes come each 50 ms";
            mistakes.push(Mistake::new("binance.interval", "1000ms", remedy));
        }
        mistakes.extend(self.mistake_of_best_levels());
        mistakes
    }

    fn mistake_of_best_levels(&self) -> Option<Mistake> {
        let (has, remedy): (&[u32], _) = match self.encoding {
            BinanceEncoding::Json => (&[0, 5, 10, 20], "0, 5, 10 or 20"),
            BinanceEncoding::Sbe => (&[0, 20], "0 or 20 with encoding = \"sbe\""),
        };
        let value = self.best_levels;
        (!has.contains(&value)).then(|| Mistake::new("binance.best_levels", value, remedy))
    }

    /// What the futures market has not.
    fn mistakes_of_futures(&self, is_paper: bool) -> Vec<Mistake> {
        let mut mistakes = Vec::new();
        if !is_paper {
            let text = "binance.market = usd-m: no order leaves for futures; trade on paper, with \
                        `--paper`, or at market = \"spot\"";
            mistakes.push(Mistake::told("binance.market", text));
        }
        if self.encoding == BinanceEncoding::Sbe {
            let remedy = "json: futures have no streams in SBE";
            mistakes.push(Mistake::new("binance.encoding", "sbe", remedy));
        } else if self.interval == BinanceInterval::EverySecond {
            mistakes.push(Mistake::new("binance.interval", "1000ms", "100ms for futures"));
        }
        if !USD_M_LEVELS.contains(&self.snapshot_levels) {
            let remedy = "5, 10, 20, 50, 100, 500 or 1000 for futures";
            mistakes.push(Mistake::new("binance.snapshot_levels", self.snapshot_levels, remedy));
        }
        mistakes
    }

    /// Whether the venue wants to know who asks for market data.
    pub(super) fn needs_key(&self) -> bool {
        self.market == BinanceMarket::SpotMarket && self.encoding == BinanceEncoding::Sbe
    }

    fn mistake_of_key(&self, file: &GatewayFile) -> Option<Mistake> {
        if file.is_paper && !self.needs_key() {
            return None;
        }
        let key = file.session.credentials.as_ref();
        let Some(key) = key.filter(|key| key.kind == CredentialKind::Binance) else {
            let further = match (file.is_paper, self.needs_key()) {
                (true, _) => {
                    "; encoding = \"sbe\" needs the API key also on paper, where the private one \
                     is not read; encoding = \"json\" needs none there"
                }
                (false, true) => "",
                (false, false) => "; on paper, with `--paper`, nobody has to",
            };
            let text = format!(
                "[session.credentials] of kind \"binance\" must say who trades: username is the \
                 API key, password is where its private key is, Ed25519 in PEM{further}"
            );
            return Some(Mistake::told("session.credentials", text));
        };
        let is_shown =
            !key.username.is_empty() && key.username.bytes().all(|it| it.is_ascii_graphic());
        (self.needs_key() && !is_shown).then(|| {
            let text = "session.credentials.username: must be the API key, letters and digits: \
                        the SBE streams want it in the header X-MBX-APIKEY";
            Mistake::told("session.credentials", text)
        })
    }

    fn fix_mistakes(&self) -> Vec<Mistake> {
        let mut mistakes = Vec::new();
        if self.heartbeat_seconds > FIX_HEARTBEAT_S_MAX {
            let remedy = format!("at most {FIX_HEARTBEAT_S_MAX} with orders over FIX");
            let value = self.heartbeat_seconds;
            mistakes.push(Mistake::new("binance.heartbeat_seconds", value, remedy));
        }
        mistakes.extend(sender_mistake("binance.fix_sender_comp_id", &self.fix_sender_comp_id));
        let port = self.fix.rsplit_once(':').and_then(|(_, port)| port.parse::<u16>().ok());
        if port.is_none() {
            mistakes.push(Mistake::new("binance.fix", &self.fix, "HOST:PORT"));
        }
        mistakes
    }

    pub(super) fn explain(&self, say: &mut impl FnMut(&str, String)) {
        let (api, snapshot_levels) = (self.api(), self.snapshot_levels);
        match self.market {
            BinanceMarket::SpotMarket => self.explain_orders(say),
            BinanceMarket::UsdM => {
                say("orders", "none leave: market data of futures, for paper".to_owned());
            }
        }
        say("market data", format!("{} at {}", self.channel("SYMBOL"), self.streams()));
        let beside: Vec<String> = self.beside("SYMBOL").collect();
        if !beside.is_empty() {
            say("", format!("{} beside it", beside.join(", ")));
        }
        if self.encoding == BinanceEncoding::Sbe {
            say("", "in SBE; the API key is shown there".to_owned());
        }
        if self.market == BinanceMarket::UsdM {
            say("", "marks, indices and funding each second".to_owned());
        }
        say("", format!("snapshots of {snapshot_levels} levels a side at {api}"));
        let SnapshotLimits { weight, rate } = self.snapshot_limits();
        let minute = u64::from(rate.per_second) * 60 + u64::from(rate.burst);
        let (at_once, a_minute) = (rate.burst / weight, minute / u64::from(weight));
        say("", format!("at most {at_once} of them at once and {a_minute} in a minute"));
    }

    fn explain_orders(&self, say: &mut impl FnMut(&str, String)) {
        let (api, Self { orders_per_second, orders_burst, orders_per_day, .. }) =
            (self.api(), self);
        match self.orders {
            BinanceOrders::Json => say("orders", format!("the WebSocket API at {api}")),
            BinanceOrders::Fix => {
                say("orders", format!("FIX 4.4 at {}", self.fix));
                say("", format!("questions about them go over the WebSocket API at {api}"));
            }
        }
        say("", "open orders stay when the connection ends".to_owned());
        let ten_seconds = u64::from(*orders_per_second) * 10 + u64::from(*orders_burst);
        let rate = format!("{ten_seconds} in ten seconds, {orders_burst} of them at once");
        say("", format!("{rate}, {orders_per_day} a day"));
    }

    fn way<'a>(&'a self, file: &'a GatewayFile) -> Way<'a> {
        Way { address: self.address, ca: self.ca.as_deref(), proxy: file.proxy.as_ref() }
    }

    /// Orders over the WebSocket API.
    pub(super) fn over_api<F>(
        &self,
        file: &GatewayFile,
        market_data: MarketData<F>,
    ) -> Result<Connections<F, BinanceWs>, RunnerError> {
        let at = self.way(file).web_socket("binance.api", self.api())?;
        let route = OrderRoute {
            address: at.found.first,
            others: at.found.others,
            transport: Transport::WebSocket { url: at.url, tls: at.tls },
            through: at.found.through,
            sender: comp_id("the gateway's CompID", NAME)?,
            target: comp_id("the venue's CompID", SERVER)?,
            heartbeat_interval: Nanos::from_secs(self.heartbeat_seconds.into()),
        };
        let config = config(file, route)?;
        let settings = self.settings(file);
        let orders = BinanceWs::new(&config, settings).map_err(|error| refused(&config, error))?;
        Ok(Connections { config, market_data, orders, tap: None })
    }

    /// Orders over FIX, and questions over the WebSocket API.
    pub(super) fn over_fix<F>(
        &self,
        file: &GatewayFile,
        market_data: MarketData<F>,
    ) -> Result<Connections<F, BinanceFix>, RunnerError> {
        let way = self.way(file);
        let at = way.web_socket("binance.api", self.api())?;
        let found = Way { address: None, ..way }.to("binance.fix", &self.fix)?;
        let name = self.fix.rsplit_once(':').map_or(self.fix.as_str(), |(host, _)| host);
        let transport = match self.fix_tls {
            false => Transport::Plain,
            true => {
                Transport::Tls { config: trust(self.ca.as_deref(), &[])?, name: name.to_owned() }
            }
        };
        let route = OrderRoute {
            address: found.first,
            others: found.others,
            transport,
            through: found.through,
            sender: comp_id("binance.fix_sender_comp_id", &self.fix_sender_comp_id)?,
            target: comp_id("the venue's CompID", FIX_SERVER)?,
            heartbeat_interval: Nanos::from_secs(self.heartbeat_seconds.into()),
        };
        let mut config = config(file, route)?;
        let questions = Transport::WebSocket { url: at.url, tls: at.tls };
        let mut questions = SecondConnection::new(at.found.first, questions);
        (questions.others, questions.through) = (at.found.others, at.found.through);
        config.session.beside = Some(questions);
        let settings = self.settings(file);
        let orders = BinanceFix::new(&config, settings).map_err(|error| refused(&config, error))?;
        Ok(Connections { config, market_data, orders, tap: None })
    }

    /// What is wrong with who reads its drop copies.
    pub(super) fn copy_mistakes(&self, keys: &CopyReaderKeys) -> Vec<Mistake> {
        let mut mistakes = Vec::new();
        let key = |name: &str| format!("drop_copy_reader.{name}");
        let sender = &keys.sender_comp_id;
        mistakes.extend(sender_mistake(&key("sender_comp_id"), sender));
        if self.orders == BinanceOrders::Fix && *sender == self.fix_sender_comp_id {
            let remedy = "another name than binance.fix_sender_comp_id: each session has its own";
            mistakes.push(Mistake::new(&key("sender_comp_id"), sender, remedy));
        }
        let seconds = u32::from(keys.heartbeat_seconds);
        if !(HEARTBEAT_S_MIN..=FIX_HEARTBEAT_S_MAX).contains(&seconds) {
            let remedy = format!("from {HEARTBEAT_S_MIN} to {FIX_HEARTBEAT_S_MAX} at Binance");
            mistakes.push(Mistake::new(&key("heartbeat_seconds"), seconds, remedy));
        }
        if let Some(target) = keys.target_comp_id.as_ref().filter(|target| *target != FIX_SERVER) {
            let remedy = format!("left out: at Binance it is {FIX_SERVER}");
            mistakes.push(Mistake::new(&key("target_comp_id"), target, remedy));
        }
        if let Some(store) = &keys.store {
            let remedy = "left out: at Binance the numbers begin at 1 with each connection";
            mistakes.push(Mistake::new(&key("store"), store.display(), remedy));
        }
        mistakes
    }

    /// Its drop copies, and TargetCompID (56) there.
    pub(super) fn copies(
        &self,
        file: &GatewayFile,
    ) -> Result<(CopiedVenue, &'static str), RunnerError> {
        let credentials = file.session.credentials.as_ref().ok_or_else(|| {
            let text = "drop_copy_reader: [session.credentials] must say who reads";
            RunnerError::Settings(text.to_owned())
        })?;
        let ca = self.ca.as_deref();
        let tls = || -> Result<TlsSettings, RunnerError> {
            // For words about a certificate.
            let roots = ca.map(Path::to_path_buf);
            let trusted = roots.or_else(|| system_roots().map(Path::to_path_buf));
            let (config, trusted) = (trust(ca, &[])?, trusted.unwrap_or_default());
            let keys = TlsNames { ca: "binance.ca", server_name: None, certificate: None };
            Ok(TlsSettings { config, server_name: None, trusted, keys })
        };
        let tls = self.fix_tls.then(tls).transpose()?;
        Ok((CopiedVenue::Binance { credentials: credentials.build()?, tls }, FIX_SERVER))
    }

    fn settings(&self, file: &GatewayFile) -> BinanceOrderSettings {
        BinanceOrderSettings {
            names: file.instruments.iter().map(|it| it.venue_name().to_owned()).collect(),
            window_ms: self.window_ms.into(),
            orders: Rate { per_second: self.orders_per_second, burst: self.orders_burst },
            orders_a_day: self.orders_per_day,
            kept_for_cancels: self.kept_for_cancels,
            weight: Rate { per_second: self.weight_per_second, burst: self.weight_burst },
            self_trade: self.self_trade.into(),
        }
    }

    fn snapshot_limits(&self) -> SnapshotLimits {
        let rate =
            Rate { per_second: self.snapshot_weight_per_second, burst: self.snapshot_weight_burst };
        let limits = match self.market {
            BinanceMarket::SpotMarket => SnapshotLimits::of_levels(self.snapshot_levels),
            BinanceMarket::UsdM => SnapshotLimits::of_usd_m_levels(self.snapshot_levels),
        };
        SnapshotLimits { rate, ..limits }
    }

    /// Where it is by name.
    pub(super) fn hosts(&self) -> Vec<Named> {
        let at_api = match self.orders {
            BinanceOrders::Json => Served::Orders,
            BinanceOrders::Fix => Served::Questions,
        };
        let fix = Named { host: self.fix.clone(), served: Served::Orders };
        let fix = Some(fix).filter(|_| self.orders == BinanceOrders::Fix);
        let urls = [
            (self.streams(), Served::Stream),
            (self.api(), Served::Snapshots),
            (self.api(), at_api),
        ];
        let of_urls =
            urls.into_iter().filter_map(|(url, served)| Named::of_url(url, self.address, served));
        of_urls.chain(fix).collect()
    }

    fn channel(&self, symbol: &str) -> String {
        match (self.encoding, self.interval) {
            (BinanceEncoding::Json, BinanceInterval::Every100Ms) => format!("{symbol}@depth@100ms"),
            (BinanceEncoding::Json, BinanceInterval::EverySecond) | (BinanceEncoding::Sbe, _) => {
                format!("{symbol}@depth")
            }
        }
    }

    /// What is told beside the book: best prices, best levels.
    fn beside(&self, symbol: &str) -> impl Iterator<Item = String> {
        let best = match self.encoding {
            BinanceEncoding::Json => "bookTicker",
            BinanceEncoding::Sbe => "bestBidAsk",
        };
        let often = match (self.encoding, self.interval) {
            (BinanceEncoding::Json, BinanceInterval::Every100Ms) => "@100ms",
            (BinanceEncoding::Json, BinanceInterval::EverySecond) | (BinanceEncoding::Sbe, _) => "",
        };
        let best = (self.best == BinanceBest::Stream).then(|| format!("{symbol}@{best}"));
        let levels = self.best_levels;
        best.into_iter().chain((levels > 0).then(|| format!("{symbol}@depth{levels}{often}")))
    }

    /// How each symbol is followed.
    fn symbols(&self) -> SymbolStreams {
        let snapshot_request = format!(
            "{{\"id\":{{id}},\"method\":\"depth\",\
             \"params\":{{\"symbol\":\"{{name}}\",\"limit\":{}}}}}",
            self.snapshot_levels
        );
        let own = [self.channel("{name}"), "{name}@trade".to_owned()];
        let streams = own.into_iter().chain(self.beside("{name}")).collect();
        SymbolStreams { streams, snapshot_request }
    }

    pub(super) fn market_data(
        &self,
        file: &GatewayFile,
        instruments: &[Instrument],
        now: Nanos,
    ) -> Result<MarketData<BinanceFeeds>, RunnerError> {
        let names: Vec<&str> = file.instruments.iter().map(|it| it.venue_name()).collect();
        let symbols = self.symbols();
        let url_of = |path: &str, channels: Vec<String>| {
            format!("{}{path}?streams={}", self.streams(), channels.join("/"))
        };
        // Streams of futures are apart by what they have; where they were before, nothing comes.
        let (path, figures) = match self.market {
            BinanceMarket::SpotMarket => ("/stream", None),
            BinanceMarket::UsdM => {
                let small = names.iter().map(|name| name.to_ascii_lowercase());
                let figures = small.map(|name| format!("{name}@markPrice@1s")).collect();
                ("/public/stream", Some(url_of("/market/stream", figures)))
            }
        };
        let channels = names.iter().flat_map(|name| symbols.streams_of(name)).collect();
        let url = url_of(path, channels);
        let way = self.way(file);
        let stream = way.web_socket("binance.streams", &url)?;
        let snapshot = way.web_socket("binance.api", self.api())?;
        let encoding = match self.encoding {
            BinanceEncoding::Json => Encoding::Json,
            BinanceEncoding::Sbe => Encoding::Sbe,
        };
        let config = |instrument: &Instrument| BinanceConfig {
            encoding,
            level_capacity: file.gateway.levels,
            updates_kept_max: UPDATES_KEPT,
            silence: Nanos::from_millis(self.silence_ms.into()),
            channel_silence: channel_silence(self.channel_silence_ms),
            snapshot_limit: Some(self.snapshot_levels as usize),
            ..BinanceConfig::new(*instrument)
        };
        let configs: Vec<(&str, BinanceConfig)> =
            names.iter().copied().zip(instruments.iter().map(config)).collect();
        let mut handler = BinanceFeeds::new(&configs, now)
            .map_err(|error| RunnerError::run("[[instruments]]", error))?;
        handler.reserve_instruments(file.instruments_max().saturating_sub(instruments.len()));
        let books = names.iter().filter_map(|name| symbols.streams_of(name).next()).collect();
        let request = |(number, name): (usize, &&str)| symbols.snapshot_request_of(number, name);
        let tls = stream.tls.clone().or_else(|| snapshot.tls.clone());
        let mut stream = at(stream);
        let figures = figures.map(|url| StreamAddress { url, ..stream.clone() });
        let key = file.session.credentials.as_ref().filter(|_| self.needs_key());
        let shown = key.map(|key| (KEY_HEADER.to_owned(), key.username.clone()));
        stream.headers = shown.into_iter().collect();
        let input = FeedInput::Streams(FeedStreams {
            stream,
            snapshot: at(snapshot),
            figures,
            snapshot_requests: names.iter().enumerate().map(request).collect(),
            books,
            snapshot_limits: self.snapshot_limits(),
            symbols: Some(symbols.clone()),
            silence: Nanos::from_millis(self.silence_ms.into()),
            renewed_after: FeedStreams::RENEWED_AFTER,
            tls,
        });
        Ok(MarketData { input, handler, backup: None })
    }
}

/// What is wrong with a SenderCompID (49) of its FIX interface.
fn sender_mistake(key: &str, sender: &str) -> Option<Mistake> {
    let is_named = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    let fits = (1..=SENDER_BYTES_MAX).contains(&sender.len()) && sender.bytes().all(is_named);
    let remedy = "one to eight letters, digits, - and _";
    (!fits).then(|| Mistake::new(key, sender, remedy))
}

fn at(web_socket: WebSocketAt) -> StreamAddress {
    let WebSocketAt { found, url, .. } = web_socket;
    found.stream(url)
}

#[cfg(test)]
mod tests;
