//! OKX: books over its public WebSocket, orders over the private one, questions over HTTP.

use taut_gateway::{
    FeedInput, FeedSession, OkxOrderSettings, OkxSecret, OkxStream, OkxStreamSettings, OkxWs,
    SecondConnection, Transport,
};
use taut_market_data::okx::OkxFeed;
use taut_market_data::{ChainConfig, NamedInstrument};
use taut_oms::Rate;
use taut_types::{Instrument, Nanos};

use super::address::{Named, Served, Way, trust, url_mistake};
use super::parts::{
    Connections, MarketData, OrderRoute, channel_silence, channel_silence_mistake, config, refused,
};
use crate::error::RunnerError;
use crate::mistakes::Mistake;
use crate::service::file::GatewayFile;
use crate::service::okx::OkxKeys;
use crate::service::secret::SecretSource;
use crate::settings::comp_id;

/// Both ends of the order session, as a journal has them: the venue knows none.
const NAME: &str = "TAUT";
const SERVER: &str = "OKX";

impl OkxKeys {
    pub(super) fn mistakes(&self, file: &GatewayFile) -> Vec<Mistake> {
        let mut mistakes = Vec::new();
        for (key, url) in [("okx.public", &self.public), ("okx.private", &self.private)] {
            mistakes.extend(url_mistake(key, url).map(Mistake::from));
        }
        if self.api_host().is_none() {
            mistakes.push(Mistake::new("okx.api", &self.api, "https://HOST or http://HOST:PORT"));
        }
        let not_zero = [
            ("silence_ms", self.silence_ms),
            ("heartbeat_seconds", self.heartbeat_seconds),
            ("orders_per_second", self.orders_per_second),
            ("orders_burst", self.orders_burst),
            ("questions_per_second", self.questions_per_second),
        ];
        for (key, _) in not_zero.iter().filter(|(_, value)| *value == 0) {
            mistakes.push(Mistake::new(&format!("okx.{key}"), 0, "above 0"));
        }
        let key = "okx.channel_silence_ms";
        mistakes.extend(channel_silence_mistake(key, self.channel_silence_ms));
        if self.heartbeat_seconds > 25 {
            let remedy = "at most 25: the venue ends a connection after half a minute of silence";
            let value = self.heartbeat_seconds;
            mistakes.push(Mistake::new("okx.heartbeat_seconds", value, remedy));
        }
        if self.questions_burst < 2 {
            let value = self.questions_burst;
            mistakes.push(Mistake::new("okx.questions_burst", value, "at least 2"));
        }
        if let Some(ca) = self.ca.as_ref().filter(|ca| !ca.is_file()) {
            let remedy = "a file of certificates in PEM";
            mistakes.push(Mistake::new("okx.ca", ca.display(), remedy));
        }
        if file.session.credentials.is_some() {
            let text = "[session.credentials] is for other venues: leave it out, and say in [okx] \
                        who trades: api_key, secret and passphrase";
            mistakes.push(Mistake::told("session.credentials", text));
        }
        if !file.is_paper {
            let is_missing =
                self.api_key.is_empty() || self.secret.is_none() || self.passphrase.is_none();
            if is_missing {
                let text = "[okx] must say who trades: api_key, and where its secret and its \
                            passphrase are, such as secret = { env = \"OKX_SECRET\" }; on paper, \
                            with `--paper`, nobody has to";
                mistakes.push(Mistake::told("okx.api_key", text));
            }
        }
        mistakes
    }

    /// What is wrong with where the secrets are.
    pub(in crate::service) fn mistakes_of_secrets(&self) -> Vec<Mistake> {
        let named = [("okx.secret", &self.secret), ("okx.passphrase", &self.passphrase)];
        let wrong = named.into_iter().filter_map(|(key, source)| {
            let wrong = source.as_ref()?.check().err()?;
            Some(Mistake::told(key, format!("{key}: {wrong}")))
        });
        wrong.collect()
    }

    pub(super) fn explain(&self, say: &mut impl FnMut(&str, String)) {
        let Self { public, private, api, orders_per_second, orders_burst, .. } = self;
        let account = if self.demo { ", of the demonstration account" } else { "" };
        say("orders", format!("the private WebSocket at {private}{account}"));
        say("", format!("questions about them go to {api}"));
        say("", "open orders stay when the connection ends".to_owned());
        say(
            "",
            format!("{orders_per_second} a second, {orders_burst} at once, and as many cancels"),
        );
        say("market data", format!("{} at {public}", self.books));
    }

    /// Where it is by name.
    pub(super) fn hosts(&self) -> Vec<Named> {
        let questions = self.api_host().filter(|_| self.address.is_none());
        let questions = questions.map(|(host, _)| Named { host, served: Served::Questions });
        let stream = Named::of_url(&self.public, self.address, Served::Stream);
        let orders = Named::of_url(&self.private, self.address, Served::Orders);
        [stream, orders, questions].into_iter().flatten().collect()
    }

    /// `host:port` of the HTTP interface, and whether that is TLS.
    fn api_host(&self) -> Option<(String, bool)> {
        let (host, port, is_tls) = match self.api.strip_prefix("https://") {
            Some(host) => (host, 443, true),
            None => (self.api.strip_prefix("http://")?, 80, false),
        };
        let host = host.strip_suffix('/').unwrap_or(host);
        let is_host = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b':');
        if host.is_empty() || !host.bytes().all(is_host) {
            return None;
        }
        let has_port = host.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
        Some((if has_port { host.to_owned() } else { format!("{host}:{port}") }, is_tls))
    }

    fn way<'a>(&'a self, file: &'a GatewayFile) -> Way<'a> {
        Way { address: self.address, ca: self.ca.as_deref(), proxy: file.proxy.as_ref() }
    }

    /// Orders over the private WebSocket, questions over HTTP.
    pub(super) fn over_web<F>(
        &self,
        file: &GatewayFile,
        market_data: MarketData<F>,
    ) -> Result<Connections<F, OkxWs>, RunnerError> {
        let way = self.way(file);
        let at = way.web_socket("okx.private", &self.private)?;
        let route = OrderRoute {
            address: at.found.first,
            others: at.found.others,
            transport: Transport::WebSocket { url: at.url, tls: at.tls },
            through: at.found.through,
            sender: comp_id("the gateway's CompID", NAME)?,
            target: comp_id("the venue's CompID", SERVER)?,
            heartbeat_interval: Nanos::from_secs(self.heartbeat_seconds.into()),
        };
        let remedy = "https://HOST or http://HOST:PORT";
        let (host, is_tls) =
            self.api_host().ok_or_else(|| RunnerError::setting("okx.api", &self.api, remedy))?;
        let found = way.to("okx.api", &host)?;
        let name = host.rsplit_once(':').map_or(host.as_str(), |(name, _)| name).to_owned();
        let tls = match is_tls {
            true => Some((trust(self.ca.as_deref(), &[b"http/1.1"])?, name)),
            false => None,
        };
        let mut questions = SecondConnection::new(found.first, Transport::Http { tls });
        (questions.others, questions.through) = (found.others, found.through);
        let mut config = config(file, route)?;
        config.session.beside = Some(questions);
        let settings = self.settings(file)?;
        let orders = OkxWs::new(&config, settings).map_err(|error| refused(&config, error))?;
        Ok(Connections { config, market_data, orders, tap: None })
    }

    fn settings(&self, file: &GatewayFile) -> Result<OkxOrderSettings, RunnerError> {
        let host = self.api.split_once("://").map_or("", |(_, host)| host);
        Ok(OkxOrderSettings {
            api_key: self.api_key.clone(),
            secret: read("okx.secret", self.secret.as_ref())?,
            passphrase: read("okx.passphrase", self.passphrase.as_ref())?,
            host: host.strip_suffix('/').unwrap_or(host).to_owned(),
            is_demo: self.demo,
            names: names(file),
            mode: self.mode.into(),
            self_trade: self.self_trade.into(),
            orders: Rate { per_second: self.orders_per_second, burst: self.orders_burst },
            questions: Rate { per_second: self.questions_per_second, burst: self.questions_burst },
        })
    }

    pub(super) fn market_data(
        &self,
        file: &GatewayFile,
        instruments: &[Instrument],
        now: Nanos,
    ) -> Result<MarketData<OkxFeed>, RunnerError> {
        let names = names(file);
        let at = self.way(file).web_socket("okx.public", &self.public)?;
        let named: Vec<_> = names
            .iter()
            .zip(instruments)
            .map(|(name, instrument)| NamedInstrument {
                name: name.as_bytes(),
                instrument: *instrument,
            })
            .collect();
        let silence = Nanos::from_millis(self.silence_ms.into());
        let chain = ChainConfig {
            level_capacity: file.gateway.levels,
            silence,
            channel_silence: channel_silence(self.channel_silence_ms),
            ..ChainConfig::new(&named)
        };
        let mut handler = OkxFeed::new(&chain, now)
            .map_err(|error| RunnerError::run("[[instruments]]", error))?;
        handler.reserve_instruments(file.instruments_max().saturating_sub(instruments.len()));
        let books = self.books.clone();
        let session =
            OkxStream::new(&OkxStreamSettings { books, silence, ..OkxStreamSettings::new(names) });
        let input = FeedInput::Session(FeedSession {
            stream: at.found.stream(at.url),
            tls: at.tls,
            session: Box::new(session),
            reconnect: file.session.settings()?.reconnect,
        });
        Ok(MarketData { input, handler, backup: None })
    }
}

fn read(key: &str, source: Option<&SecretSource>) -> Result<OkxSecret, RunnerError> {
    let wrong = |what: &str| RunnerError::Settings(format!("{key}: {what}"));
    let source = source.ok_or_else(|| wrong("it is missing"))?;
    source.read().map(OkxSecret).map_err(|error| wrong(&error))
}

/// The venue's names of the instruments, by their numbers.
fn names(file: &GatewayFile) -> Vec<String> {
    file.instruments.iter().map(|it| it.venue_name().to_owned()).collect()
}
