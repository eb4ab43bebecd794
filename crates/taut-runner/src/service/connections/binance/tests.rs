//! Files of gateways at Binance, and what comes of them.

use std::net::SocketAddrV4;

use super::*;
use crate::service::connections;
use crate::service::file::BINANCE_GATEWAY_SAMPLE;

/// The sample with these changes of its text.
fn file(changes: &[(&str, &str)]) -> GatewayFile {
    let change = |text: String, (was, is): &(&str, &str)| {
        assert!(text.contains(was), "{was}");
        text.replacen(was, is, 1)
    };
    let text = changes.iter().fold(BINANCE_GATEWAY_SAMPLE.to_owned(), change);
    toml::from_str(&text).expect("settings")
}

/// What is wrong with the venue of a file, one on each line.
fn wrong(file: &GatewayFile) -> String {
    match connections::mistakes(file).as_slice() {
        [] => String::new(),
        wrong => crate::mistakes::error(wrong).to_string(),
    }
}

/// What a file's gateway connects to at an address.
fn streams(file: &GatewayFile) -> FeedStreams {
    let keys = file.binance.as_ref().expect("[binance]");
    let address = Some(SocketAddrV4::new([127, 0, 0, 1].into(), 9));
    let keys = BinanceKeys { address, ca: None, ..keys.clone() };
    let instruments = file.instruments().expect("instruments");
    let data = keys.market_data(file, &instruments, Nanos::ZERO).expect("market data");
    let FeedInput::Streams(streams) = data.input else { panic!("no streams") };
    streams
}

const USD_M: (&str, &str) = ("market = \"spot\"", "market = \"usd-m\"");
const SBE: (&str, &str) = ("encoding = \"json\"", "encoding = \"sbe\"");
/// Without TLS, whose roots a machine may lack.
const PLAIN: [(&str, &str); 2] = [
    ("# streams = \"wss://stream.binance.com:9443\"", "streams = \"ws://127.0.0.1:8080\""),
    ("# api = \"wss://ws-api.binance.com:443", "api = \"ws://127.0.0.1:8080"),
];

#[test]
fn the_key_is_shown_to_the_sbe_streams_and_nowhere_else() {
    for (changes, channel, headers) in [
        (&[][..], "btcusdt@depth@100ms/btcusdt@trade/", vec![]),
        (&[SBE], "btcusdt@depth/btcusdt@trade/", vec![("X-MBX-APIKEY", "API_KEY")]),
    ] {
        let streams = streams(&file(&[&PLAIN[..], changes].concat()));
        let url = &streams.stream.url;
        assert!(url.starts_with(&format!("ws://127.0.0.1:8080/stream?streams={channel}")), "{url}");
        let named = |(name, value): &(String, String)| (name.clone(), value.clone());
        let shown: Vec<_> = streams.stream.headers.iter().map(named).collect();
        let headers: Vec<_> =
            headers.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
        assert_eq!(shown, headers);
        assert_eq!((streams.snapshot.headers, streams.figures), (vec![], None));
    }
}

#[test]
fn best_prices_and_best_levels_are_followed_beside_the_book_where_the_file_says_so() {
    const BEST: (&str, &str) = ("best = \"book\"", "best = \"stream\"");
    const TEN: (&str, &str) = ("best_levels = 0", "best_levels = 10");
    const TWENTY: (&str, &str) = ("best_levels = 0", "best_levels = 20");
    const SECOND: (&str, &str) = ("interval = \"100ms\"", "interval = \"1000ms\"");
    for (changes, own) in [
        (&[BEST][..], "@depth@100ms/btcusdt@trade/btcusdt@bookTicker/ethusdt@depth@100ms/"),
        (&[TEN], "@depth@100ms/btcusdt@trade/btcusdt@depth10@100ms/ethusdt@"),
        (&[TEN, SECOND], "@depth/btcusdt@trade/btcusdt@depth10/ethusdt@"),
        (&[BEST, TWENTY, SBE], "@depth/btcusdt@trade/btcusdt@bestBidAsk/btcusdt@depth20/ethusdt@"),
    ] {
        let file = file(&[&PLAIN[..], changes].concat());
        assert_eq!(wrong(&file), "");
        let streams = streams(&file);
        let url = &streams.stream.url;
        assert!(url.contains(&format!("?streams=btcusdt{own}")), "{url}");
        let symbols = streams.symbols.expect("how symbols are added");
        let added: Vec<String> = symbols.streams_of("BTCUSDT").collect();
        assert!(url.contains(&added.join("/")), "{added:?}");
    }
    let seven = ("best_levels = 0", "best_levels = 7");
    for (changes, remedy) in [(&[seven][..], "0, 5, 10 or 20"), (&[TEN, SBE], "0 or 20 with")] {
        assert!(wrong(&file(changes)).contains(remedy), "{changes:?}: {}", wrong(&file(changes)));
    }
}

#[test]
fn a_quiet_stream_is_looked_for_where_the_file_says_for_how_long() {
    let is = |value: &str| ("channel_silence_ms = 0", format!("channel_silence_ms = {value}"));
    let (sole, change) = is("300000");
    let sole = file(&[&PLAIN[..], &[(sole, &change)]].concat());
    assert_eq!(wrong(&sole), "");
    // Which stream is asked for anew.
    assert_eq!(streams(&sole).books, ["btcusdt@depth@100ms", "ethusdt@depth@100ms"]);
    let (was, change) = is("999");
    let told = wrong(&file(&[(was, &change)]));
    assert!(told.contains("binance.channel_silence_ms = 999: must be 0, which is"), "{told}");
}

#[test]
fn streams_are_where_the_venue_has_them_for_their_encoding() {
    let at = |changes: &[(&str, &str)]| {
        let file = file(changes);
        let keys = file.binance.expect("[binance]");
        keys.hosts().into_iter().map(|named| named.host).collect::<Vec<_>>()
    };
    let api = "ws-api.binance.com:443";
    assert_eq!(at(&[]), ["stream.binance.com:9443", api, api]);
    assert_eq!(at(&[SBE]), ["stream-sbe.binance.com:9443", api, api]);
    let futures = "ws-fapi.binance.com:443";
    assert_eq!(at(&[USD_M]), ["fstream.binance.com:443", futures, futures]);
    let named = ("# streams = \"wss://stream.binance.com", "streams = \"wss://stream-sbe.other");
    assert_eq!(at(&[SBE, named])[0], "stream-sbe.other:9443");
}

#[test]
fn sbe_without_a_key_is_refused_also_on_paper() {
    assert_eq!(wrong(&file(&[])), "");
    assert_eq!(wrong(&file(&[SBE])), "");
    let other = ("kind = \"binance\"", "kind = \"password\"");
    for (changes, is_paper, words) in [
        (&[other][..], false, "with `--paper`, nobody has to"),
        (&[other], true, ""),
        (&[other, SBE], false, "Ed25519 in PEM"),
        (&[other, SBE], true, "needs the API key also on paper"),
        (&[SBE], true, ""),
        (&[SBE, ("\"API_KEY\"", "\"\"")], true, "session.credentials.username: must be the API"),
        (&[SBE, ("\"API_KEY\"", "\"a\\nb\"")], false, "in the header X-MBX-APIKEY"),
        (
            &[SBE, ("interval = \"100ms\"", "interval = \"1000ms\"")],
            false,
            "binance.interval = 1000ms",
        ),
    ] {
        let mut file = file(changes);
        file.is_paper = is_paper;
        let wrong = wrong(&file);
        assert_eq!(wrong.is_empty(), words.is_empty(), "{changes:?}: {wrong}");
        assert!(wrong.contains(words), "{changes:?}: {wrong}");
    }
}

#[test]
fn on_paper_the_private_key_is_not_looked_for() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("gateway.toml");
    let text = BINANCE_GATEWAY_SAMPLE.replacen(SBE.0, SBE.1, 1);
    std::fs::write(&path, text).expect("a file");
    let paper = GatewayFile::read_on_paper(&path).expect("right");
    assert_eq!(paper.check(), Ok(()));
    assert!(connections::needs_key(&paper) && paper.session.credentials.is_some());
    let said = GatewayFile::read(&path).expect_err("no private key").to_string();
    assert!(said.contains("binance.pem"), "{said}");
}

#[test]
fn futures_are_followed_where_their_books_and_trades_are_and_on_paper_alone() {
    let paper = |changes: &[(&str, &str)]| {
        let mut file = file(changes);
        (file.is_paper, file.session.credentials) = (true, None);
        file
    };
    let streams = streams(&paper(&[&PLAIN[..], &[USD_M]].concat()));
    let url = streams.stream.url;
    let names = "btcusdt@depth@100ms/btcusdt@trade/ethusdt@depth@100ms/ethusdt@trade";
    assert_eq!(url, format!("ws://127.0.0.1:8080/public/stream?streams={names}"));
    assert_eq!((streams.stream.headers, streams.snapshot_limits.weight), (vec![], 20));
    let figures = streams.figures.expect("figures of futures").url;
    let names = "btcusdt@markPrice@1s/ethusdt@markPrice@1s";
    assert_eq!(figures, format!("ws://127.0.0.1:8080/market/stream?streams={names}"));
    for (changes, words) in [
        (&[USD_M][..], ""),
        (&[USD_M, SBE], "binance.encoding = sbe: must be json"),
        (&[USD_M, ("interval = \"100ms\"", "interval = \"1000ms\"")], "100ms for futures"),
        (&[USD_M, ("snapshot_levels = 1000", "snapshot_levels = 5000")], "500 or 1000 for futures"),
    ] {
        let wrong = wrong(&paper(changes));
        assert_eq!(wrong.is_empty(), words.is_empty(), "{changes:?}: {wrong}");
        assert!(wrong.contains(words), "{changes:?}: {wrong}");
    }
    let said = wrong(&file(&[USD_M]));
    assert!(said.contains("no order leaves for futures; trade on paper"), "{said}");
}

#[test]
fn what_is_connected_is_said_in_words() {
    for (changes, words) in [
        (&[][..], "the WebSocket API at wss://ws-api.binance.com"),
        (&[SBE], "in SBE; the API key is shown there"),
        (&[USD_M], "none leave: market data of futures, for paper"),
    ] {
        let mut lines = Vec::new();
        connections::explain(&file(changes), &mut |_, text| lines.push(text));
        let all = lines.join("\n");
        assert!(all.contains(words), "{all}");
        assert!(!all.contains("API_KEY"), "{all}");
    }
}
