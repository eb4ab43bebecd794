//! A WebSocket of taut-ws that a test waits for: for the desk's own, and for a browser's.

use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::Value;
use taut_sys::{monotonic, random_bytes};
use taut_testkit::DEADLINE;
use taut_ws::{ClientRequest, Closed, Connection, Event, Seed, WsConfig, WsUrl};

/// A browser's picture is one message.
const MESSAGE_BYTES_MAX: usize = 64 << 20;

/// A client's connection.
pub struct Socket {
    stream: TcpStream,
    connection: Connection,
    /// What has come and was not looked at.
    rest: Vec<u8>,
}

/// What came.
enum Came {
    Opened,
    Text(String),
    /// The end, with the status of a refusal.
    Over(Option<u16>),
}

impl Socket {
    /// Connects, with these headers; the status of a refusal.
    pub fn connect(url: &str, headers: &[(&str, &str)]) -> Result<Self, u16> {
        let url = WsUrl::parse(url).expect("a URL");
        let mut request = ClientRequest::new(&url);
        for (name, value) in headers {
            request = request.header(name, value).expect("a header");
        }
        let mut seed = [0; 16];
        random_bytes(&mut seed).expect("random bytes");
        let config = WsConfig {
            message_bytes_max: MESSAGE_BYTES_MAX,
            send_bytes_max: 1 << 20,
            keep_alive: None,
            ..WsConfig::default()
        };
        let connection = Connection::client(&config, &request, Seed::new(seed), monotonic());
        let connection = connection.expect("a connection");
        let stream = TcpStream::connect((url.host(), url.port())).expect("a connection");
        stream.set_read_timeout(Some(DEADLINE)).expect("a timeout");
        let mut socket = Self { stream, connection, rest: Vec::new() };
        socket.flush();
        match socket.next() {
            Came::Opened => Ok(socket),
            Came::Over(Some(status)) => Err(status),
            Came::Over(None) | Came::Text(_) => Err(0),
        }
    }

    /// Says something.
    pub fn send(&mut self, value: &Value) {
        self.connection.outbox().text(&value.to_string()).expect("room");
        self.flush();
    }

    /// The next message; nothing when the connection is over.
    pub fn receive(&mut self) -> Option<Value> {
        match self.next() {
            Came::Text(text) => Some(serde_json::from_str(&text).expect("JSON")),
            Came::Opened | Came::Over(_) => None,
        }
    }

    fn flush(&mut self) {
        let bytes = self.connection.poll_transmit();
        self.stream.write_all(bytes).expect("it is written");
        let count = bytes.len();
        self.connection.transmitted(count);
    }

    fn next(&mut self) -> Came {
        let mut chunk = vec![0; 1 << 16];
        loop {
            while !self.rest.is_empty() {
                let handled = self.connection.handle_bytes(monotonic(), &self.rest);
                let consumed = handled.consumed;
                let came = match handled.event {
                    Some(Event::Opened(_)) => Some(Came::Opened),
                    Some(Event::Text(text)) => Some(Came::Text(text.to_owned())),
                    Some(Event::Closed(Closed::Refused(refused))) => {
                        Some(Came::Over(Some(refused.status)))
                    }
                    Some(Event::Closed(_)) => Some(Came::Over(None)),
                    _ => None,
                };
                self.rest.drain(..consumed);
                self.flush();
                if let Some(came) = came {
                    return came;
                }
            }
            match self.stream.read(&mut chunk).expect("a message in time") {
                0 => {
                    let over = self.connection.handle_end();
                    let status = match over.event {
                        Some(Event::Closed(Closed::Refused(refused))) => Some(refused.status),
                        _ => None,
                    };
                    return Came::Over(status);
                }
                count => self.rest.extend_from_slice(&chunk[..count]),
            }
        }
    }
}
