//! Deribit: books over WebSocket or FIX, orders over WebSocket or FIX.

use taut_fix::CompId;
use taut_fix_engine::Credentials;
use taut_gateway::{
    DeribitFix, DeribitFixStream, DeribitFixStreamSettings, DeribitJson, DeribitOrderSettings,
    DeribitStream, DeribitStreamSettings, FeedInput, FeedSession, StreamAddress, StreamSession,
    Transport,
};
use taut_market_data::deribit::{DeribitFeed, DeribitFixFeed};
use taut_market_data::{ChainConfig, NamedInstrument};
use taut_net::TlsClientConfig;
use taut_oms::Rate;
use taut_types::{Instrument, InstrumentError, Nanos};

use super::address::{Found, Named, Served, Way, WebSocketAt, trust, url_mistake};
use super::parts::{
    Connections, MarketData, OrderRoute, channel_silence, channel_silence_mistake, config, refused,
};
use crate::error::RunnerError;
use crate::mistakes::Mistake;
use crate::service::deribit::{
    DeribitBook, DeribitInterval, DeribitKeys, DeribitMarketData, DeribitOrders,
};
use crate::service::file::GatewayFile;
use crate::service::secret::CredentialKind;
use crate::settings::comp_id;

/// The venue's CompID.
const SERVER: &str = "DERIBITSERVER";
/// The longest name of an instrument in a message of FIX.
const FIX_NAME_BYTES_MAX: usize = 39;

impl DeribitKeys {
    pub(super) fn mistakes(&self, file: &GatewayFile) -> Vec<Mistake> {
        let mut mistakes = Vec::new();
        mistakes.extend(url_mistake("deribit.url", &self.url).map(Mistake::from));
        let not_zero = [
            ("silence_ms", self.silence_ms),
            ("orders_per_second", self.orders_per_second),
            ("questions_per_second", self.questions_per_second),
        ];
        for (key, _) in not_zero.iter().filter(|(_, value)| *value == 0) {
            mistakes.push(Mistake::new(&format!("deribit.{key}"), 0, "above 0"));
        }
        let key = "deribit.channel_silence_ms";
        mistakes.extend(channel_silence_mistake(key, self.channel_silence_ms));
        mistakes.extend(self.book_mistakes());
        if self.heartbeat_seconds < 10 {
            let value = self.heartbeat_seconds;
            mistakes.push(Mistake::new("deribit.heartbeat_seconds", value, "at least 10"));
        }
        if self.kept_for_cancels >= self.orders_burst {
            let remedy = format!("below orders_burst, {}", self.orders_burst);
            let kept = self.kept_for_cancels;
            mistakes.push(Mistake::new("deribit.kept_for_cancels", kept, remedy));
        }
        if let Some(ca) = self.ca.as_ref().filter(|ca| !ca.is_file()) {
            let remedy = "a file of certificates in PEM";
            mistakes.push(Mistake::new("deribit.ca", ca.display(), remedy));
        }
        let comp_id = comp_id("deribit.fix_sender_comp_id", &self.fix_sender_comp_id);
        mistakes.extend(comp_id.err().map(Mistake::from));
        let is_fix = self.market_data == DeribitMarketData::Fix;
        if self.orders == DeribitOrders::Fix || is_fix {
            let named = |(at, it): (usize, &crate::settings::InstrumentSettings)| {
                it.name.as_ref().filter(|name| name.len() > FIX_NAME_BYTES_MAX).map(|name| {
                    let remedy = format!("at most {FIX_NAME_BYTES_MAX} letters");
                    Mistake::new(&format!("instruments[{at}].name"), name, remedy)
                })
            };
            mistakes.extend(file.instruments.iter().enumerate().filter_map(named));
        }
        let kind = file.session.credentials.as_ref().map(|credentials| credentials.kind);
        let needs_key = !file.is_paper || self.needs_key();
        if needs_key && kind != Some(CredentialKind::Deribit) {
            let text = "[session.credentials] of kind \"deribit\" must say who trades: username is \
                        the client's id, password is where its secret is";
            mistakes.push(Mistake::told("session.credentials", text));
        }
        mistakes
    }

    /// Whether market data are for those alone who have a key.
    pub(super) fn needs_key(&self) -> bool {
        self.market_data == DeribitMarketData::Fix || self.interval == DeribitInterval::Raw
    }

    /// What is wrong with how books are told.
    fn book_mistakes(&self) -> Vec<Mistake> {
        let mut mistakes = Vec::new();
        if !matches!(self.depth, 1 | 10 | 20) {
            mistakes.push(Mistake::new("deribit.depth", self.depth, "1, 10 or 20"));
        }
        let is_step = self.group.parse::<u32>().is_ok_and(|step| step > 0);
        if self.group != "none" && !is_step {
            let remedy = "\"none\", or a whole number in quotes";
            mistakes.push(Mistake::new("deribit.group", &self.group, remedy));
        }
        if self.market_data == DeribitMarketData::Fix && self.book != DeribitBook::Changes {
            let remedy = "\"changes\", as market data over FIX are";
            mistakes.push(Mistake::new("deribit.book", self.book.name(), remedy));
        }
        if self.book == DeribitBook::Grouped && self.interval == DeribitInterval::Raw {
            let remedy = "\"100ms\" or \"agg2\": grouped books are not told change by change";
            mistakes.push(Mistake::new("deribit.interval", "raw", remedy));
        }
        mistakes
    }

    pub(super) fn explain(&self, say: &mut impl FnMut(&str, String)) {
        let cancels = if self.cancel_on_disconnect { "are cancelled" } else { "stay" };
        let over = match self.orders {
            DeribitOrders::Json => format!("JSON-RPC at {}", self.url),
            DeribitOrders::Fix => self.fix_route(),
        };
        say("orders", over);
        say("", format!("open orders {cancels} when the connection ends"));
        if self.owns_account {
            let all = "a kill may end whatever the account has open in an instrument";
            say("", all.to_owned());
        }
        let Self { orders_per_second, orders_burst, kept_for_cancels, .. } = self;
        let rate = format!("{orders_per_second} a second, {orders_burst} at once");
        say("", format!("{rate}, {kept_for_cancels} of them for cancels alone"));
        if self.market_data == DeribitMarketData::Fix {
            return say("market data", format!("books and trades, {}", self.fix_route()));
        }
        let Self { group, depth, url, .. } = self;
        let interval = self.interval.name();
        let books = match self.book {
            DeribitBook::Changes => format!("books {interval}"),
            DeribitBook::Grouped => {
                format!("books {interval}, {depth} levels a side in steps of {group}")
            }
            DeribitBook::Quote => format!("best prices alone, trades {interval}"),
        };
        say("market data", format!("{books} at {url}"));
    }

    /// Where its FIX interface is, for people.
    fn fix_route(&self) -> String {
        let tls = if self.fix_tls { "over TLS" } else { "without TLS" };
        format!("FIX 4.4 {tls} at {} as {}", self.fix, self.fix_sender_comp_id)
    }

    /// Orders over JSON-RPC.
    pub(super) fn over_json<F>(
        &self,
        file: &GatewayFile,
        market_data: MarketData<F>,
    ) -> Result<Connections<F, DeribitJson>, RunnerError> {
        let at = self.web_socket(file)?;
        let route = OrderRoute {
            address: at.found.first,
            others: at.found.others,
            transport: Transport::WebSocket { url: at.url, tls: at.tls },
            through: at.found.through,
            sender: self.sender()?,
            target: server()?,
            heartbeat_interval: Nanos::from_secs(self.heartbeat_seconds.into()),
        };
        let config = config(file, route)?;
        let orders = DeribitJson::new(&config, self.settings(file))
            .map_err(|error| refused(&config, error))?;
        Ok(Connections { config, market_data, orders, tap: None })
    }

    /// Orders over FIX.
    pub(super) fn over_fix<F>(
        &self,
        file: &GatewayFile,
        market_data: MarketData<F>,
    ) -> Result<Connections<F, DeribitFix>, RunnerError> {
        let found = self.fix_at(file)?;
        let name = self.fix.rsplit_once(':').map_or(self.fix.as_str(), |(host, _)| host);
        let transport = match self.fix_trust()? {
            None => Transport::Plain,
            Some(config) => Transport::Tls { config, name: name.to_owned() },
        };
        let route = OrderRoute {
            address: found.first,
            others: found.others,
            transport,
            through: found.through,
            sender: self.sender()?,
            target: server()?,
            heartbeat_interval: Nanos::from_secs(self.heartbeat_seconds.into()),
        };
        let config = config(file, route)?;
        let orders = DeribitFix::new(&config, &self.settings(file))
            .map_err(|error| refused(&config, error))?;
        Ok(Connections { config, market_data, orders, tap: None })
    }

    /// Whom the FIX interface is trusted by, where that is TLS.
    fn fix_trust(&self) -> Result<Option<TlsClientConfig>, RunnerError> {
        self.fix_tls.then(|| trust(self.ca.as_deref(), &[])).transpose()
    }

    fn settings(&self, file: &GatewayFile) -> DeribitOrderSettings {
        DeribitOrderSettings {
            cancels_on_disconnect: self.cancel_on_disconnect,
            owns_account: self.owns_account,
            names: names(file),
            orders: Rate { per_second: self.orders_per_second, burst: self.orders_burst },
            kept_for_cancels: self.kept_for_cancels,
            questions: Rate { per_second: self.questions_per_second, burst: self.questions_burst },
        }
    }

    fn sender(&self) -> Result<CompId, RunnerError> {
        comp_id("deribit.fix_sender_comp_id", &self.fix_sender_comp_id)
    }

    /// Where it is by name.
    pub(super) fn hosts(&self) -> Vec<Named> {
        let of_url = |served| Named::of_url(&self.url, self.address, served);
        let of_fix = |served| Some(Named { host: self.fix.clone(), served });
        let stream = match self.market_data {
            DeribitMarketData::WebSocket => of_url(Served::Stream),
            DeribitMarketData::Fix => of_fix(Served::Stream),
        };
        let orders = match self.orders {
            DeribitOrders::Json => of_url(Served::Orders),
            DeribitOrders::Fix => of_fix(Served::Orders),
        };
        stream.into_iter().chain(orders).collect()
    }

    fn way<'a>(&'a self, file: &'a GatewayFile) -> Way<'a> {
        Way { address: self.address, ca: self.ca.as_deref(), proxy: file.proxy.as_ref() }
    }

    fn web_socket(&self, file: &GatewayFile) -> Result<WebSocketAt, RunnerError> {
        self.way(file).web_socket("deribit.url", &self.url)
    }

    fn fix_at(&self, file: &GatewayFile) -> Result<Found, RunnerError> {
        Way { address: None, ..self.way(file) }.to("deribit.fix", &self.fix)
    }

    /// Market data over WebSocket.
    pub(super) fn over_web_socket(
        &self,
        file: &GatewayFile,
        instruments: &[Instrument],
        now: Nanos,
    ) -> Result<MarketData<DeribitFeed>, RunnerError> {
        let (names, at) = (names(file), self.web_socket(file)?);
        let key = match file.session.settings()?.credentials {
            Some(Credentials::Deribit { client_id, secret })
                if self.interval == DeribitInterval::Raw =>
            {
                Some((client_id, secret))
            }
            _ => None,
        };
        let books = self.book.channel();
        let mut handler =
            self.handler(file, instruments, |chain| DeribitFeed::following(books, chain, now))?;
        handler.reserve_instruments(file.instruments_max().saturating_sub(instruments.len()));
        let session = DeribitStream::new(&DeribitStreamSettings {
            interval: self.interval.name().to_owned(),
            book: books,
            group: self.group.clone(),
            depth: self.depth,
            key,
            silence: self.silence(),
            ..DeribitStreamSettings::new(names)
        });
        let (stream, tls) = (at.found.stream(at.url), at.tls);
        input(file, (stream, tls), Box::new(session), handler)
    }

    /// Market data over FIX.
    pub(super) fn over_fix_session(
        &self,
        file: &GatewayFile,
        instruments: &[Instrument],
        now: Nanos,
    ) -> Result<MarketData<DeribitFixFeed>, RunnerError> {
        let found = self.fix_at(file)?;
        let credentials = file.session.settings()?.credentials.ok_or_else(|| {
            let text = "[session.credentials]: market data over FIX need a key".to_owned();
            RunnerError::Settings(text)
        })?;
        let handler = self.handler(file, instruments, |chain| DeribitFixFeed::new(chain, now))?;
        let session = DeribitFixStream::new(&DeribitFixStreamSettings {
            names: names(file),
            sender: self.sender()?,
            target: server()?,
            credentials,
            heartbeat_interval: Nanos::from_secs(self.heartbeat_seconds.into()),
            silence: self.silence(),
        });
        let session = session.map_err(|error| RunnerError::Settings(error.to_string()))?;
        let stream = found.stream(format!("fix://{}", self.fix));
        input(file, (stream, self.fix_trust()?), Box::new(session), handler)
    }

    fn silence(&self) -> Nanos {
        Nanos::from_millis(self.silence_ms.into())
    }

    /// The handler of the books of these instruments.
    fn handler<F>(
        &self,
        file: &GatewayFile,
        instruments: &[Instrument],
        build: impl FnOnce(&ChainConfig<'_>) -> Result<F, InstrumentError>,
    ) -> Result<F, RunnerError> {
        let names = names(file);
        let listed = names.iter().zip(instruments).map(|(name, instrument)| NamedInstrument {
            name: name.as_bytes(),
            instrument: *instrument,
        });
        let named: Vec<_> = listed.collect();
        let chain = ChainConfig {
            level_capacity: file.gateway.levels,
            silence: self.silence(),
            channel_silence: channel_silence(self.channel_silence_ms),
            ..ChainConfig::new(&named)
        };
        build(&chain).map_err(|error| RunnerError::run("[[instruments]]", error))
    }
}

/// Market data of a session at this address.
fn input<F>(
    file: &GatewayFile,
    (stream, tls): (StreamAddress, Option<TlsClientConfig>),
    session: Box<dyn StreamSession>,
    handler: F,
) -> Result<MarketData<F>, RunnerError> {
    let reconnect = file.session.settings()?.reconnect;
    let input = FeedInput::Session(FeedSession { stream, tls, session, reconnect });
    Ok(MarketData { input, handler, backup: None })
}

/// The venue's names of the instruments, by their numbers.
fn names(file: &GatewayFile) -> Vec<String> {
    file.instruments.iter().map(|it| it.venue_name().to_owned()).collect()
}

fn server() -> Result<CompId, RunnerError> {
    comp_id("the venue's CompID", SERVER)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::service::file::DERIBIT_GATEWAY_SAMPLE;

    #[test]
    fn a_grouped_book_has_steps_and_a_depth_that_there_are_and_is_not_told_raw() {
        let wrong = |keys: &str| {
            let sample = DERIBIT_GATEWAY_SAMPLE.replace("interval = \"100ms\"\n", "");
            let sample = sample.replace("market_data = \"websocket\"\n", "");
            let text = sample.replace("book = \"changes\"", keys);
            let file: GatewayFile = toml::from_str(&text).expect("a file");
            file.deribit.as_ref().expect("its table").mistakes(&file)
        };
        for right in [
            "",
            "book = \"quote\"\ninterval = \"raw\"",
            "book = \"grouped\"\ngroup = \"5\"\ndepth = 10\ninterval = \"agg2\"",
        ] {
            assert_eq!(wrong(right), [], "{right}");
        }
        let remedy = "\"100ms\" or \"agg2\": grouped books are not told change by change";
        let raw = Mistake::new("deribit.interval", "raw", remedy);
        assert_eq!(wrong("book = \"grouped\"\ninterval = \"raw\""), [raw]);
        for group in ["0", "0.5", "-1", "some"] {
            let keys = format!("book = \"grouped\"\ngroup = \"{group}\"\ndepth = 5");
            let depth = Mistake::new("deribit.depth", 5, "1, 10 or 20");
            let remedy = "\"none\", or a whole number in quotes";
            assert_eq!(wrong(&keys), [depth, Mistake::new("deribit.group", group, remedy)]);
        }
        let remedy = "\"changes\", as market data over FIX are";
        let book = Mistake::new("deribit.book", "quote", remedy);
        assert_eq!(wrong("book = \"quote\"\nmarket_data = \"fix\""), [book]);
    }
}
