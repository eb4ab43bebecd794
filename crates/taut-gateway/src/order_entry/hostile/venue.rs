//! A venue that says what its script tells it to.

use taut_io::{Admission, Completion, Handle, Io, Kernel};
use taut_sys::{Address, StreamOptions};
use taut_types::{ClientOrderId, RequestId};

/// How it answers a kind of message.
#[derive(Clone, Debug, PartialEq)]
enum Habit {
    /// As it should: of questions, that it does not take them.
    Plain,
    Silent,
    /// It closes the connection.
    Close,
    /// With this.
    Say(String),
}

pub struct ScriptedVenue {
    address: Address,
    listener: Option<Handle>,
    line: Option<Handle>,
    is_logged_on: bool,
    inbox: Vec<u8>,
    /// The number of its next message.
    pub next: u64,
    /// Every message that came, as text.
    received: Vec<String>,
    last: String,
    logon: Habit,
    mass: Habit,
    status: Habit,
    positions: Habit,
    /// Its reports, as who reads its drop copies has them.
    pub copies: Vec<Vec<u8>>,
    /// The order session says nothing.
    is_deaf: bool,
    resend: Habit,
}

impl ScriptedVenue {
    pub fn listen(io: &mut Io<impl Kernel>, address: &str) -> Self {
        let address = Address::Inet(address.parse().unwrap());
        let mut venue = Self {
            address,
            listener: None,
            line: None,
            is_logged_on: false,
            inbox: Vec::new(),
            next: 1,
            received: Vec::new(),
            last: String::new(),
            logon: Habit::Plain,
            mass: Habit::Plain,
            status: Habit::Plain,
            positions: Habit::Plain,
            copies: Vec::new(),
            is_deaf: false,
            resend: Habit::Plain,
        };
        venue.open(io);
        venue
    }

    /// It can be reached.
    pub fn open(&mut self, io: &mut Io<impl Kernel>) {
        self.listener = io.listen(&self.address, &StreamOptions::default(), &Admission::OPEN).ok();
        assert!(self.listener.is_some());
    }

    /// It cannot be reached any more; what is connected stays.
    pub fn close(&mut self, io: &mut Io<impl Kernel>) {
        io.close(self.listener.take().unwrap()).unwrap();
    }

    /// The messages of this type that came, the oldest first.
    pub fn all_of(&self, msg_type: &str) -> impl Iterator<Item = &String> {
        let field = format!("|35={msg_type}|");
        self.received.iter().filter(move |message| message.contains(&field))
    }

    /// The first message of this type that came.
    pub fn first_of(&self, msg_type: &str) -> Option<&String> {
        self.all_of(msg_type).next()
    }

    /// The number of the message that came last.
    pub fn last_number(&self) -> u64 {
        let last = self.received.last().unwrap();
        let number = last.split('|').find_map(|field| field.strip_prefix("34=")).unwrap();
        number.parse().unwrap()
    }

    /// From now on it answers as it should.
    pub fn behave(&mut self) {
        (self.logon, self.mass, self.positions) = (Habit::Plain, Habit::Plain, Habit::Plain);
    }

    /// How often messages were received that have this in them.
    pub fn count(&self, text: &str) -> usize {
        self.received.iter().filter(|message| message.contains(text)).count()
    }

    /// The kinds of the requests that were received, and their orders: `D 1`, `F 1`.
    pub fn requests(&self) -> Vec<String> {
        let kinds = ["|35=D|", "|35=F|", "|35=G|"];
        let requests = self.received.iter().filter_map(|message| {
            let kind = kinds.iter().find(|kind| message.contains(**kind))?;
            let id = message.split("|11=").nth(1)?.split('|').next()?;
            let order = RequestId::from_text(id.as_bytes())?.order;
            Some(format!("{} {}", &kind[4..5], order.0))
        });
        requests.collect()
    }

    /// The last message that was received.
    pub fn last(&self) -> &str {
        self.received.last().map_or("", String::as_str)
    }

    /// The first message that was received: the Logon.
    pub fn logon(&self) -> &str {
        self.received.first().map_or("", String::as_str)
    }

    /// How often an order was received.
    pub fn orders_of(&self, id: ClientOrderId) -> usize {
        let field = format!("|11={}|", text_of(id, 1));
        self.received.iter().filter(|it| it.contains("|35=D|") && it.contains(&field)).count()
    }

    pub fn complete(&mut self, io: &mut Io<impl Kernel>, completion: &Completion<'_>) {
        match *completion {
            Completion::Accepted { listener, stream, .. } if self.listener == Some(listener) => {
                (self.line, self.inbox) = (Some(stream), Vec::new());
                self.is_logged_on = false;
                io.receive(stream).unwrap();
            }
            Completion::Received { stream, bytes } if self.line == Some(stream) => {
                self.inbox.extend_from_slice(bytes);
                while let Some(message) = self.take() {
                    self.answer(io, &message);
                    self.received.push(message);
                }
            }
            Completion::Ended { stream } | Completion::Closed { source: stream, .. }
                if self.line == Some(stream) =>
            {
                self.line = None;
                let _ = io.close(stream);
            }
            _ => {}
        }
    }

    /// The next whole message, `|` between its fields.
    fn take(&mut self) -> Option<String> {
        let end = self.inbox.windows(4).position(|bytes| bytes == b"\x0110=")? + 8;
        if self.inbox.len() < end {
            return None;
        }
        let message: Vec<u8> = self.inbox.drain(..end).collect();
        Some(String::from_utf8(message).unwrap().replace('\x01', "|"))
    }

    fn answer(&mut self, io: &mut Io<impl Kernel>, message: &str) {
        let value = |tag: &str| {
            let field = message.split('|').find_map(|field| field.strip_prefix(tag));
            field.unwrap_or_default().to_owned()
        };
        let (kind, sequence) = (value("35="), value("34="));
        if kind == "2" && self.resend == Habit::Plain {
            // Nothing is sent again: the gap is filled.
            let next = std::mem::replace(&mut self.next, value("7=").parse().unwrap());
            self.say(io, &format!("35=4|43=Y|122=20120621-13:30:00|123=Y|36={next}"));
            self.next = next;
        }
        let (habit, plain) = match kind.as_str() {
            // One in the middle answers ours.
            "A" if self.is_logged_on => return,
            "A" => {
                self.is_logged_on = true;
                let reset = message.contains("|141=Y|");
                if reset {
                    self.next = 1;
                }
                let flag = if reset { "|141=Y" } else { "" };
                (self.logon.clone(), format!("35=A|98=0|108=30{flag}"))
            }
            "5" => (Habit::Plain, "35=5".to_owned()),
            "1" => (Habit::Plain, format!("35=0|112={}", value("112="))),
            "AF" => (self.mass.clone(), format!("35=j|45={sequence}|372=AF|380=3")),
            "H" => (self.status.clone(), format!("35=j|45={sequence}|372=H|380=3")),
            "AN" => (self.positions.clone(), format!("35=j|45={sequence}|372=AN|380=3")),
            _ => return,
        };
        match habit {
            Habit::Plain => self.say(io, &plain),
            Habit::Silent => {}
            Habit::Close => self.cut(io),
            Habit::Say(text) => {
                let id = value(if kind == "AN" { "710=" } else { "584=" });
                let text = text.replace("{id}", &id).replace("{seq}", &sequence);
                text.split('+').for_each(|text| self.act_or_say(io, text.trim()));
            }
        }
    }

    fn act_or_say(&mut self, io: &mut Io<impl Kernel>, text: &str) {
        match text.split_once(' ') {
            Some((verb, rest)) => self.act(io, verb, rest),
            None => self.say(io, text),
        }
    }

    /// Does what a step of a script says.
    pub fn act(&mut self, io: &mut Io<impl Kernel>, verb: &str, rest: &str) {
        match verb {
            // ExecType, OrdStatus, ExecID, LastQty, CumQty, and other fields, which come first.
            "er" => {
                let words: Vec<_> = rest.splitn(6, ' ').collect();
                let [exec_type, status, id, last, cum] = words[..5] else { panic!("{rest}") };
                let extra = words.get(5).copied().unwrap_or_default();
                let open = matches!(status, "0" | "1" | "5" | "6" | "7" | "9" | "A" | "E" | "D");
                let cum_number: f64 = cum.parse().unwrap_or(0.0);
                let leaves = if open { (10.0 - cum_number).max(0.0) } else { 0.0 };
                let leaves = leaves.to_string();
                let defaults = [
                    ("150", exec_type),
                    ("39", status),
                    ("17", id),
                    ("32", last),
                    ("14", cum),
                    ("11", "{1}"),
                    ("37", "V1"),
                    ("31", "10"),
                    ("6", "10"),
                    ("38", "10"),
                    ("54", "1"),
                    ("55", "AAPL"),
                    ("151", &leaves),
                ];
                let mut text = format!("35=8|{extra}");
                for (tag, value) in defaults {
                    if !format!("|{extra}").contains(&format!("|{tag}=")) && value != "-" {
                        text += &format!("|{tag}={value}");
                    }
                }
                self.say(io, &text.replace("||", "|"));
            }
            // PosReqID, how many reports there are, and other fields.
            "ap" => {
                let (id, rest) = rest.split_once(' ').unwrap();
                let (total, rest) = rest.split_once(' ').unwrap_or((rest, ""));
                self.say(io, &format!("35=AP|721=1|710={id}|727={total}|715=20120621|{rest}"));
            }
            "deaf" => self.is_deaf = rest == "on",
            "raw" => self.say(io, rest),
            "again" => {
                let text = self.last.clone();
                self.say(io, &(text + rest));
            }
            "bytes" => self.write(io, rest.replace('|', "\x01").as_bytes()),
            "seq" => self.next = rest.parse().unwrap(),
            "skip" => self.next += rest.parse::<u64>().unwrap(),
            "cut" => self.cut(io),
            "logon" => self.logon = habit(rest),
            "mass" => self.mass = habit(rest),
            "status" => self.status = habit(rest),
            "positions" => self.positions = habit(rest),
            "resend" => self.resend = habit(rest),
            _ => panic!("{verb}?"),
        }
    }

    fn cut(&mut self, io: &mut Io<impl Kernel>) {
        if let Some(line) = self.line.take() {
            let _ = io.close(line);
        }
    }

    /// Sends a message with the next number. `{1}` is the ClOrdID of the order, `{2}` that of its
    /// next request.
    fn say(&mut self, io: &mut Io<impl Kernel>, text: &str) {
        self.last = text.to_owned();
        let mut text = text.to_owned();
        for version in 1..=5 {
            let name = format!("{{{version}}}");
            text = text.replace(&name, &text_of(ClientOrderId(1), version));
        }
        let (kind, rest) = text.split_once('|').unwrap_or((&text, ""));
        let sequence = self.next;
        self.next += u64::from(!self.is_deaf);
        // The header's flags stand before the body.
        let (flags, rest): (Vec<_>, Vec<_>) = rest
            .split('|')
            .filter(|field| !field.is_empty())
            .partition(|field| field.starts_with("97=") || field.starts_with("43="));
        let second = 48_600 + io.now().0 / 1_000_000_000;
        let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
        let stamp = format!("52=20120621-{hour:02}:{minute:02}:{second:02}");
        let header = format!("{kind}|34={sequence}|49=VENUE|{stamp}|56=GATEWAY|");
        let join = |fields: Vec<&str>| fields.iter().map(|it| format!("{it}|")).collect::<String>();
        let body = (header + &join(flags) + &join(rest)).replace('|', "\x01");
        let mut message = format!("8=FIX.4.4\x019={}\x01{body}", body.len()).into_bytes();
        let sum = message.iter().fold(0_u8, |sum, byte| sum.wrapping_add(*byte));
        message.extend_from_slice(format!("10={sum:03}\x01").as_bytes());
        if !self.is_deaf {
            self.write(io, &message);
        }
        self.copies.push(message);
    }

    fn write(&mut self, io: &mut Io<impl Kernel>, bytes: &[u8]) {
        if let Some(line) = self.line {
            let _ = io.write(line, bytes, None);
        }
    }
}

fn habit(text: &str) -> Habit {
    match text {
        "plain" => Habit::Plain,
        "silent" => Habit::Silent,
        "close" => Habit::Close,
        other => Habit::Say(other.to_owned()),
    }
}

fn text_of(order: ClientOrderId, version: u16) -> String {
    String::from_utf8(RequestId { order, version }.to_text().to_vec()).unwrap()
}
