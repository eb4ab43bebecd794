//! What a venue's interface is to the connections in front of it: pure, no bytes and no clock.

use taut_book::OrderBook;
use taut_engine::{Command, Event};
use taut_fix::Now;
use taut_types::Nanos;

/// An HTTP request, whole.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HttpRequest {
    /// `GET`, `POST`, ...
    pub method: String,
    /// The path without its query, as it came.
    pub path: String,
    /// What stands behind the `?`, as it came; empty without one.
    pub query: String,
    /// `Host`, without a port.
    pub host: String,
    /// `Authorization`, or else empty.
    pub authorization: String,
    /// All headers, the names in small letters.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

impl HttpRequest {
    /// The path and the query, as they were asked for: what signatures are made of.
    #[must_use]
    pub fn target(&self) -> String {
        if self.query.is_empty() {
            self.path.clone()
        } else {
            format!("{}?{}", self.path, self.query)
        }
    }

    /// A header by its name in small letters.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

/// Something for a connection, by its number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output {
    /// A WebSocket text.
    Text {
        /// For whom.
        connection: u64,
        /// The text.
        text: String,
    },
    /// A binary WebSocket message.
    Message {
        /// For whom.
        connection: u64,
        /// The message.
        bytes: Vec<u8>,
    },
    /// The answer to the connection's oldest HTTP request.
    Answer {
        /// For whom.
        connection: u64,
        /// The status.
        status: u16,
        /// Headers beside those of every answer.
        headers: Vec<(&'static str, String)>,
        /// A body of JSON.
        body: String,
    },
    /// Bytes of a FIX session.
    Bytes {
        /// For whom.
        connection: u64,
        /// Whole messages.
        bytes: Vec<u8>,
    },
    /// Some of the bytes of one of these, and the connection ends.
    Torn {
        /// Which one.
        connection: u64,
        /// What is not told whole.
        whole: Box<Self>,
        /// Any number: where it is torn.
        at: u64,
    },
    /// The connection ends when what was sent before has left.
    Close {
        /// Which one.
        connection: u64,
    },
}

impl Output {
    /// About how much memory it takes.
    pub(crate) fn bytes(&self) -> usize {
        let content = match self {
            Self::Text { text, .. } => text.len(),
            Self::Answer { body, .. } => body.len(),
            Self::Message { bytes, .. } | Self::Bytes { bytes, .. } => bytes.len(),
            Self::Torn { whole, .. } => whole.bytes(),
            Self::Close { .. } => 0,
        };
        size_of::<Self>() + content
    }
}

/// Why a request is refused before it is served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The engine is busy: only requests that trade are refused, the others are served.
    Busy,
    /// One request too many.
    TooMany,
    /// The venue is in maintenance.
    Maintenance,
    /// It is served, and where it trades it is answered as if nobody knew what became of it.
    Unknown,
    /// The login of its connection is over: only requests that need one are refused.
    Expired,
}

/// How the first instrument is listed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Listing {
    /// It takes no new order any more, and those that were open are cancelled.
    pub is_delisted: bool,
    /// Its price step is twice as large as in the venue's file.
    pub has_larger_step: bool,
}

/// Why a WebSocket is not opened: the HTTP answer to its request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Denied {
    /// The status.
    pub status: u16,
    /// A body of JSON.
    pub body: String,
}

impl Denied {
    /// There is none at this path.
    #[must_use]
    pub fn not_found() -> Self {
        Self { status: 404, body: "{}".to_owned() }
    }
}

/// A venue's interface. What it is told it keeps until [`Front::next_command`] is called, which
/// does it; what it has to say is polled.
pub trait Front {
    /// An order book before the first command.
    fn on_book(&mut self, place: usize, book: &OrderBook);

    /// Opens a WebSocket; then the connection exists.
    ///
    /// # Errors
    /// What the request is answered with where there is none.
    fn open(&mut self, now: Now, connection: u64, request: &HttpRequest) -> Result<(), Denied>;

    /// A text on a WebSocket.
    fn text(&mut self, now: Now, connection: u64, text: &str);

    /// An HTTP request; its answer may come later.
    fn request(&mut self, now: Now, connection: u64, request: HttpRequest);

    /// A connection to a FIX port stands; whether FIX is spoken here.
    fn open_fix(&mut self, _now: Now, _connection: u64) -> bool {
        false
    }

    /// Bytes on a FIX port, as they came; why a request among them is refused, if one is.
    fn bytes(&mut self, _now: Now, _connection: u64, _bytes: &[u8], _why: Option<Refusal>) {}

    /// Whether the Logon of a connection to a FIX port was accepted.
    fn has_logged_on(&self, _connection: u64) -> bool {
        false
    }

    /// As [`Front::text`], refused.
    fn refuse_text(&mut self, now: Now, connection: u64, text: &str, why: Refusal);

    /// As [`Front::request`], refused.
    fn refuse_request(&mut self, now: Now, connection: u64, request: HttpRequest, why: Refusal);

    /// A connection is gone.
    fn closed(&mut self, now: Now, connection: u64);

    /// Serves what has come until there is a command for the exchange, whose events come next.
    fn next_command(&mut self, now: Now) -> Option<(usize, Command)>;

    /// What a command led to, anybody's.
    fn on_events(&mut self, now: Now, place: usize, events: &[Event]);

    /// Time passes.
    fn on_time(&mut self, now: Now);

    /// The venue's maintenance begins, or is over.
    fn on_maintenance(&mut self, _is_on: bool) {}

    /// The venue was started again: connections end, and ids of changes, updates and trades begin
    /// again. Orders and what accounts hold stay.
    fn on_restart(&mut self) {}

    /// The first instrument is listed like this from now on.
    fn on_listing(&mut self, _listing: Listing) {}

    /// When [`Front::on_time`] has something to do.
    fn due(&self) -> Option<Nanos>;

    /// How many changes of books were told one by one, to all who follow them so: a client that has
    /// missed none has as many. Nothing where the venue does not tell them so.
    fn book_changes(&self) -> Option<u64> {
        None
    }

    /// The number of a book's last change as clients are told it. Nothing for an unknown place, and
    /// where changes have no numbers.
    fn change_number(&self, _place: usize) -> Option<u64> {
        None
    }

    /// The next that has to be sent.
    fn poll_output(&mut self) -> Option<Output>;
}
