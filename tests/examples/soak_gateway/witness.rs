//! A witness on the wire between gateway and venue: it passes every byte on, and notes the orders
//! that left and what the venue told of them.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use taut_testkit::tcp_listener;
use taut_types::{ClientOrderId, RequestId};

/// By the strategy's number and the symbol: bought less sold.
pub type Positions = BTreeMap<(u8, String), i64>;

/// Where everything is noted.
#[derive(Clone, Debug, Default)]
pub struct Witness(Arc<Mutex<Notes>>);

#[derive(Debug, Default)]
struct Notes {
    /// How many venues there were before this one.
    venue: u64,
    /// Every order that left, with the venue that it was sent to, and whether that said its end.
    orders: HashMap<ClientOrderId, (u64, bool)>,
    /// Every trade, by its order and its name.
    trades: HashSet<(ClientOrderId, String)>,
    positions: Positions,
    /// What must not be.
    wrong: Vec<String>,
}

/// Who sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum From {
    Gateway,
    Venue,
}

impl Witness {
    /// Listens, and passes on to the venue at this address.
    pub fn listen(venue: SocketAddr) -> (Self, SocketAddr) {
        let (listener, address) = tcp_listener();
        let witness = Self::default();
        let own = witness.clone();
        thread::spawn(move || own.serve(&listener, venue));
        (witness, address)
    }

    /// The venue has forgotten everything.
    pub fn next_venue(&self) {
        self.notes().venue += 1;
    }

    /// Orders and trades so far.
    pub fn counts(&self) -> (usize, usize) {
        let notes = self.notes();
        (notes.orders.len(), notes.trades.len())
    }

    /// Orders that are not over at the venue.
    pub fn open(&self) -> Vec<ClientOrderId> {
        let notes = self.notes();
        let is_open = |(venue, is_over): &(u64, bool)| *venue == notes.venue && !is_over;
        notes.orders.iter().filter(|(_, order)| is_open(order)).map(|(id, _)| *id).collect()
    }

    /// What all trades come to, but for what is flat.
    pub fn positions(&self) -> Positions {
        let mut positions = self.notes().positions.clone();
        positions.retain(|_, lots| *lots != 0);
        positions
    }

    /// Nothing has happened that must not.
    pub fn assert_well(&self) {
        let notes = self.notes();
        assert!(notes.wrong.is_empty(), "{:#?}", notes.wrong);
    }

    fn notes(&self) -> MutexGuard<'_, Notes> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn serve(&self, listener: &TcpListener, venue: SocketAddr) {
        for gateway in listener.incoming().flatten() {
            // A venue that is not there: the gateway is told so, and tries again.
            let Ok(venue) = TcpStream::connect(venue) else { continue };
            let _ = (gateway.set_nodelay(true), venue.set_nodelay(true));
            let (Ok(gateway_too), Ok(venue_too)) = (gateway.try_clone(), venue.try_clone()) else {
                continue;
            };
            let (up, down) = (self.clone(), self.clone());
            thread::spawn(move || up.pass(From::Gateway, gateway, venue));
            thread::spawn(move || down.pass(From::Venue, venue_too, gateway_too));
        }
    }

    /// Passes bytes on until the one end is gone; then the other one hears of it.
    fn pass(&self, whose: From, mut from: TcpStream, mut to: TcpStream) {
        let (mut buffer, mut bytes) = ([0; 16_384], Vec::new());
        while let Ok(count @ 1..) = from.read(&mut buffer) {
            bytes.extend_from_slice(&buffer[..count]);
            while let Some(message) = take_message(&mut bytes) {
                self.notes().take(whose, &message);
            }
            // What a gateway does not hear any more was told all the same.
            let _ = to.write_all(&buffer[..count]);
        }
        let _ = to.shutdown(Shutdown::Write);
        if whose == From::Venue {
            let _ = to.shutdown(Shutdown::Both);
        }
    }
}

/// The first whole message, its fields by their tags.
fn take_message(bytes: &mut Vec<u8>) -> Option<HashMap<u32, String>> {
    let end = bytes.windows(4).position(|window| window == b"\x0110=")? + 8;
    if bytes.len() < end {
        return None;
    }
    let message: Vec<u8> = bytes.drain(..end).collect();
    let field = |field: &[u8]| {
        let text = String::from_utf8_lossy(field).into_owned();
        let (tag, value) = text.split_once('=')?;
        Some((tag.parse().ok()?, value.to_owned()))
    };
    Some(message.split(|byte| *byte == 1).filter_map(field).collect())
}

impl Notes {
    fn take(&mut self, whose: From, message: &HashMap<u32, String>) {
        let value = |tag: u32| message.get(&tag).map_or("", String::as_str);
        let request = RequestId::from_text(value(11).as_bytes());
        match (whose, value(35)) {
            (From::Gateway, "D") => {
                let Some(RequestId { order, .. }) = request else {
                    return self.wrong.push(format!("an order without an owner: {message:?}"));
                };
                if self.orders.insert(order, (self.venue, false)).is_some() {
                    self.wrong.push(format!("an order that left twice: {order:?}"));
                }
            }
            // Of those that a question named and there are not, it says so in the same way.
            (From::Venue, "8") if !value(11).is_empty() => {
                let Some(RequestId { order, .. }) = request else {
                    return self.wrong.push(format!("a report without an owner: {message:?}"));
                };
                let Some((_, is_over)) = self.orders.get_mut(&order) else {
                    // Written down, and killed before it left.
                    let is_unknown = value(103) == "5";
                    if !is_unknown {
                        self.wrong.push(format!("a report of an order that never left: {order:?}"));
                    }
                    return;
                };
                *is_over |= matches!(value(39), "2" | "3" | "4" | "8" | "C");
                if value(150) == "F" && self.trades.insert((order, value(17).to_owned())) {
                    let lots: i64 = value(32).parse().unwrap_or(0);
                    let signed = if value(54) == "1" { lots } else { -lots };
                    let key = (order.strategy().0, value(55).to_owned());
                    *self.positions.entry(key).or_default() += signed;
                }
            }
            _ => {}
        }
    }
}
