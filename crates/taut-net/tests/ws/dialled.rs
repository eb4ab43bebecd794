//! A client's way by itself: through a proxy, and to where the server sends it.

use taut_io::{
    Admission, Completion, EpollKernel, EventLoop, Handle, Io, Kernel, LoopConfig, SimConfig,
    SimKernel, WaitStrategy,
};
use taut_net::{
    NetError, Proxy, ProxyFault, RedirectFault, TlsServerConfig, WsClient, WsDial, WsEvent,
    WsStream,
};
use taut_sys::{Address, StreamOptions};
use taut_ws::{ClientRequest, Closed, Connection, Event, WsUrl};

use crate::rig::{NAME, PATIENCE, Pki, config};

/// What the other end does, connection by connection.
#[derive(Default)]
struct Far {
    /// What a proxy answers; without it there is none.
    proxy_answer: Option<&'static str>,
    /// Where clients are sent, in turn; who comes later is accepted.
    redirects: Vec<(u16, String)>,
    tls: Option<TlsServerConfig>,
    /// As the proxy has it.
    asked: String,
    /// The request lines and the headers that they came with.
    requests: Vec<(String, Option<String>)>,
    stream: Option<Handle>,
    ws: Option<WsStream>,
}

impl Far {
    fn handle<K: Kernel>(&mut self, io: &mut Io<K>, completion: &Completion<'_>) {
        match *completion {
            Completion::Accepted { stream, .. } => {
                (self.stream, self.ws) = (Some(stream), None);
                if self.proxy_answer.is_some() {
                    io.receive(stream).unwrap();
                } else {
                    self.serve(io, stream);
                }
                return;
            }
            Completion::Received { stream, bytes }
                if self.stream == Some(stream) && self.ws.is_none() =>
            {
                self.asked.push_str(std::str::from_utf8(bytes).unwrap());
                if self.asked.ends_with("\r\n\r\n") {
                    let answer = self.proxy_answer.unwrap_or("");
                    if answer.starts_with("HTTP/1.1 200") {
                        io.write(stream, answer.as_bytes(), None).unwrap();
                        self.serve(io, stream);
                    } else if answer.is_empty() {
                        io.close(stream).unwrap();
                    } else {
                        io.write(stream, answer.as_bytes(), None).unwrap();
                    }
                }
                return;
            }
            _ => {}
        }
        let Self { ws: Some(ws), redirects, requests, .. } = self else { return };
        ws.handle(io, completion, &mut |outbox, event| match event {
            WsEvent::Session(Event::Requested(request)) => {
                let header = request.header("X-Key").map(str::to_owned);
                requests.push((format!("{}{}", request.host(), request.path()), header));
                if redirects.is_empty() {
                    return outbox.accept(request.protocols().next(), &[]).unwrap();
                }
                let (status, location) = redirects.remove(0);
                outbox.refuse(status, &[("Location", &location)], "elsewhere").unwrap();
            }
            WsEvent::Session(Event::Text(text)) => outbox.text(text).unwrap(),
            _ => {}
        });
    }

    fn serve<K: Kernel>(&mut self, io: &mut Io<K>, stream: Handle) {
        let connection = Connection::server(&config(), io.now()).unwrap();
        let ws = WsStream::server(io, stream, self.tls.as_ref(), connection);
        self.ws = Some(ws.unwrap());
    }
}

/// What came of it: the subprotocol and the echo, or why there is none.
type Came = Result<(Option<String>, String), NetError>;

/// Dials `make`'s URL, which is told the port that the other end listens at, and plays one echo.
fn dialled<K: Kernel>(kernel: K, far: &mut Far, make: impl FnOnce(u16) -> WsDial) -> Came {
    let limits = LoopConfig { sources_max: 16, ..LoopConfig::default() };
    let mut events = EventLoop::new(kernel, limits).unwrap();
    let io = events.io();
    let any = Address::Inet("127.0.0.1:0".parse().unwrap());
    let listener = io.listen(&any, &StreamOptions::default(), &Admission::OPEN).unwrap();
    let port = io.local_address(listener).unwrap().port();
    for (_, location) in &mut far.redirects {
        *location = location.replace("PORT", &port.to_string());
    }
    let mut client = WsClient::start(io, make(port), [7; 16])?;
    let (mut protocol, mut echo, mut fault) = (None, None, None);
    let mut handler = |io: &mut Io<K>, completion: Completion<'_>| {
        let taken = client.handle(io, &completion, &mut |outbox, event| match event {
            Event::Opened(response) => {
                protocol = response.protocol().map(str::to_owned);
                outbox.text("there and back").unwrap();
            }
            Event::Text(text) => echo = Some(text.to_owned()),
            Event::Closed(Closed::Refused(refused)) => {
                echo = Some(format!("refused with {}", refused.status));
            }
            _ => {}
        });
        match taken {
            Ok(false) => far.handle(io, &completion),
            Ok(true) => {}
            Err(error) => fault = Some(error),
        }
        if echo.is_some() || fault.is_some() || client.is_over() {
            io.stop();
        }
    };
    events.run_for(&mut handler, WaitStrategy::Block, PATIENCE).unwrap();
    match fault {
        Some(fault) => Err(fault),
        None => Ok((protocol, echo.expect("an echo"))),
    }
}

fn dial(url: &str) -> WsDial {
    let request = ClientRequest::new(&WsUrl::parse(url).unwrap());
    let request = request.header("X-Key", "secret").unwrap().protocol("one").unwrap();
    WsDial { request, patience: PATIENCE, ..WsDial::new(url).unwrap() }
}

fn slow() -> SimKernel {
    SimKernel::new(16, SimConfig { window_bytes: 300, ..SimConfig::default() })
}

const CAME: &str = "there and back";

#[test]
fn a_proxy_is_asked_for_the_server_and_then_it_is_the_server_plain_or_over_tls() {
    let pki = Pki::new(NAME);
    for is_secure in [false, true] {
        let mut far = Far {
            proxy_answer: Some("HTTP/1.1 200 Connection established\r\nVia: x\r\n\r\n"),
            tls: is_secure.then(|| pki.server(&[])),
            ..Far::default()
        };
        let came = dialled(EpollKernel::new(16).unwrap(), &mut far, |port| {
            let proxy = Proxy::parse(&format!("http://127.0.0.1:{port}")).unwrap();
            // A name that nobody looks up: the proxy does.
            let scheme = if is_secure { "wss" } else { "ws" };
            let tls = is_secure.then(|| pki.client(&[]));
            let proxy = Some(proxy.with_user("me", "word").unwrap());
            WsDial { proxy, tls, ..dial(&format!("{scheme}://{NAME}/feed?x=1")) }
        });
        assert_eq!(came, Ok((Some("one".to_owned()), CAME.to_owned())));
        let port = if is_secure { 443 } else { 80 };
        let start = format!("CONNECT {NAME}:{port} HTTP/1.1\r\nHost: {NAME}:{port}\r\n");
        assert_eq!(far.asked, start + "Proxy-Authorization: Basic bWU6d29yZA==\r\n\r\n");
        assert_eq!(far.requests[0].0, format!("{NAME}/feed?x=1"));
    }
}

#[test]
fn a_proxy_that_refuses_or_leaves_is_told_as_what_it_is() {
    let cases = [
        ("HTTP/1.1 407 Who are you\r\nContent-Length: 0\r\n\r\n", ProxyFault::Refused(407)),
        ("HTTP/1.1 502 Bad Gateway\r\n\r\n", ProxyFault::Refused(502)),
        ("220 mail.test ESMTP\r\n", ProxyFault::NotHttp),
        ("", ProxyFault::Ended),
    ];
    for (answer, fault) in cases {
        let mut far = Far { proxy_answer: Some(answer), ..Far::default() };
        let came = dialled(slow(), &mut far, |port| {
            let proxy = Some(Proxy::parse(&format!("http://127.0.0.1:{port}")).unwrap());
            WsDial { proxy, ..dial("ws://10.0.0.1:9/") }
        });
        assert_eq!(came, Err(NetError::Proxy(fault)), "{answer:?}");
    }
}

#[test]
fn a_redirection_is_followed_to_where_it_leads_and_a_key_stays_on_its_host() {
    for status in [301, 302, 307, 308] {
        let redirects = vec![
            (status, "/second?y".to_owned()),
            (status, "http://localhost:PORT/third".to_owned()),
        ];
        let mut far = Far { redirects, ..Far::default() };
        let mut at = 0;
        let kernel = EpollKernel::new(16).unwrap();
        let came = dialled(kernel, &mut far, |port| {
            at = port;
            WsDial { redirects_max: 2, ..dial(&format!("ws://127.0.0.1:{port}/first")) }
        });
        assert_eq!(came, Ok((Some("one".to_owned()), CAME.to_owned())), "{status}");
        let key = Some("secret".to_owned());
        assert_eq!(
            far.requests,
            [
                (format!("127.0.0.1:{at}/first"), key.clone()),
                (format!("127.0.0.1:{at}/second?y"), key),
                (format!("localhost:{at}/third"), None),
            ]
        );
    }
}

#[test]
fn a_circle_a_downgrade_and_a_redirection_to_nowhere_are_refused() {
    let pki = Pki::new("127.0.0.1");
    let to = |location: &str| (302, location.to_owned());
    let cases = [
        (false, vec![to("/a"), to("/b"), to("/c")], RedirectFault::TooMany { limit: 2 }),
        (true, vec![to("ws://127.0.0.1:PORT/")], RedirectFault::Downgrade),
        (true, vec![to("http://127.0.0.1:PORT/")], RedirectFault::Downgrade),
        (false, vec![to("mailto:x@y")], RedirectFault::Location),
        (false, vec![to("wss://127.0.0.1:PORT/")], RedirectFault::NoRoots),
    ];
    for (is_secure, redirects, fault) in cases {
        let tls = is_secure.then(|| pki.server(&[]));
        let mut far = Far { redirects, tls, ..Far::default() };
        let came = dialled(slow(), &mut far, |port| {
            let scheme = if is_secure { "wss" } else { "ws" };
            let tls = is_secure.then(|| pki.client(&[]));
            WsDial { redirects_max: 2, tls, ..dial(&format!("{scheme}://127.0.0.1:{port}/")) }
        });
        assert_eq!(came, Err(NetError::Redirect(fault)));
    }
    // Where none are followed, it is a refusal as any other, and the caller is told.
    let mut far = Far { redirects: vec![to("/a")], ..Far::default() };
    let came = dialled(slow(), &mut far, |port| dial(&format!("ws://127.0.0.1:{port}/")));
    assert_eq!(came, Ok((None, "refused with 302".to_owned())));
}
