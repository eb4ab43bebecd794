//! What hostile peers send.

use taut_aeron::frame::{
    DataHeader, Nak, RoundTripFrame, Setup, Status, control_flags, data_flags, write_heartbeat,
};
use taut_lease::{CONTROL_BYTES, Header, Kind};
use taut_testkit::{Draw, Random};
use taut_types::Nanos;

pub const STREAM: i32 = 7;

/// Makes a datagram, of one who may have heard which session there is.
pub type Forge = fn(&mut Random, Option<&Setup>) -> Vec<u8>;

/// Now and then something else: bytes changed, cut off, or nothing but chance.
pub fn spoil(random: &mut Random, mut frame: Vec<u8>) -> Vec<u8> {
    match random.below(8) {
        0 => frame.truncate(random.below(frame.len() as u64 + 1) as usize),
        1 => {
            let at = random.below(frame.len() as u64) as usize;
            if let Some(byte) = frame.get_mut(at) {
                *byte ^= 1 << random.below(8);
            }
        }
        2 => {
            let length = random.below(200);
            frame = (0..length).map(|_| random.u8(..)).collect();
        }
        _ => {}
    }
    frame
}

/// Asks a publication for a SETUP, of 40 bytes: in 36.
fn for_setup(random: &mut Random, heard: Option<&Setup>) -> Vec<u8> {
    ask_setup(random, heard, false)
}

/// It names the session that there is, where that was heard, but never so that it is taken for a
/// receiver: who has heard the session is where he says.
fn ask_setup(random: &mut Random, heard: Option<&Setup>, has_tag: bool) -> Vec<u8> {
    let named = heard.filter(|_| random.bool());
    Status {
        flags: control_flags::SEND_SETUP,
        session_id: named.map_or(0, |setup| setup.session_id),
        stream_id: named.map_or(0, |setup| setup.stream_id),
        term_id: 0,
        term_offset: 0,
        window: 0,
        receiver_id: random.i64(..),
        group_tag: has_tag.then(|| random.i64(..)),
    }
    .frame()
    .as_bytes()
    .to_vec()
}

/// Asks a publication for an echo, as long as the question.
fn for_echo(random: &mut Random, heard: Option<&Setup>) -> Vec<u8> {
    let any = random.i32(..);
    RoundTripFrame {
        flags: control_flags::REPLY,
        session_id: heard.map_or(any, |setup| setup.session_id),
        stream_id: STREAM,
        echo: random.i64(..),
        reception_delta: 0,
        receiver_id: random.i64(..),
    }
    .frame()
    .as_bytes()
    .to_vec()
}

/// Asks a publication for 64 KiB of data again, in 28 bytes.
fn for_repair(random: &mut Random, heard: Option<&Setup>) -> Vec<u8> {
    let any = random.i32(..);
    Nak {
        session_id: heard.map_or(any, |setup| setup.session_id),
        stream_id: STREAM,
        term_id: heard.map_or(0, |setup| setup.active_term_id),
        term_offset: 0,
        length: 1 << 16,
    }
    .frame()
    .as_bytes()
    .to_vec()
}

/// What a careless publication answers with more than the question, each kind by itself: one that
/// has no answer would pay for the others.
pub const TO_PUBLICATION: &[Forge] = &[for_setup, for_echo, for_repair];

/// All of that.
pub fn to_publication(random: &mut Random, heard: Option<&Setup>) -> Vec<u8> {
    match random.below(5) {
        0 => for_echo(random, heard),
        1 => for_repair(random, heard),
        _ => {
            let has_tag = random.bool();
            ask_setup(random, heard, has_tag)
        }
    }
}

/// Begins a session at a subscription, which asks where that is.
fn with_setup(random: &mut Random, _: Option<&Setup>) -> Vec<u8> {
    let term_length = 1 << 30;
    let setup = Setup { session_id: random.i32(..), stream_id: STREAM, term_length, ..ANY_SETUP };
    Setup { mtu: 1408, ..setup }.frame().as_bytes().to_vec()
}

/// A heartbeat of a session that a subscription does not know: it asks for the SETUP.
fn with_heartbeat(random: &mut Random, _: Option<&Setup>) -> Vec<u8> {
    let header = DataHeader {
        frame_length: 0,
        flags: data_flags::UNFRAGMENTED,
        is_padding: false,
        term_offset: 0,
        session_id: random.i32(..),
        stream_id: STREAM,
        term_id: 0,
        reserved_value: 0,
    };
    let mut heartbeat = vec![0; 32];
    write_heartbeat(&header, &mut heartbeat);
    heartbeat
}

/// The same of a subscription.
pub const TO_SUBSCRIPTION: &[Forge] = &[with_setup, with_heartbeat];

/// Begins sessions at a subscription.
pub fn to_subscription(random: &mut Random, heard: Option<&Setup>) -> Vec<u8> {
    if random.bool() { with_setup(random, heard) } else { with_heartbeat(random, heard) }
}

/// The same of a lease's publisher.
pub const TO_LEASE_PUBLISHER: &[Forge] = &[for_lease];

/// Asks for a lease in the shortest that is answered, with a cookie that nobody gave.
fn for_lease(random: &mut Random, _: Option<&Setup>) -> Vec<u8> {
    lease_frame(random, Kind::Ask)
}

/// Asks for leases, and gives up those of others.
pub fn to_lease_publisher(random: &mut Random, _: Option<&Setup>) -> Vec<u8> {
    let kind = random.pick(&[Kind::Ask, Kind::Ask, Kind::Ask, Kind::Leave]);
    lease_frame(random, kind)
}

fn lease_frame(random: &mut Random, kind: Kind) -> Vec<u8> {
    let (sequence, sent) = (random.u64(..), Nanos(random.i64(..)));
    let header = Header { kind, message_type: 0, session: 0, sequence, sent };
    let mut frame = header.to_bytes().to_vec();
    frame.resize(CONTROL_BYTES, 0);
    frame
}

/// Whether a publication of this session takes the sender of a datagram for a receiver. Aeron's
/// protocol has no other proof of an address than that.
pub fn is_proof(datagram: &[u8], session: Option<&Setup>) -> bool {
    let status = datagram.get(6..8).filter(|kind| **kind == [3, 0]);
    let status = status.and_then(|_| Status::read(datagram));
    status.zip(session).is_some_and(|(status, session)| {
        let (named, known) = (status.session_id, session.session_id);
        status.flags & control_flags::SEND_SETUP == 0 && named == known
    })
}

/// Answers what a listener asks, as somebody does who is where he says.
pub fn answer(datagram: &[u8]) -> Option<Vec<u8>> {
    if let Some((header, cookie)) = Header::read(datagram) {
        let is_challenge = header.kind == Kind::Challenge;
        let asks = Header { kind: Kind::Ask, ..header };
        return is_challenge.then(|| [&asks.to_bytes()[..], cookie].concat());
    }
    let is_round_trip = datagram.len() == 40 && datagram.get(6) == Some(&6);
    let asked = RoundTripFrame::read(datagram).filter(|_| is_round_trip)?;
    let asks = asked.flags & control_flags::REPLY != 0;
    asks.then(|| RoundTripFrame { flags: 0, ..asked }.frame().as_bytes().to_vec())
}

/// What a publication answers that counts nothing: a SETUP of 40 bytes for a question of 36, a
/// datagram full of data for a NAK of 28, and more than is asked for a round trip.
pub fn careless_publication(question: &[u8]) -> Vec<u8> {
    match question.get(6) {
        Some(&2) => vec![0; 1408],
        Some(&6) => vec![0; question.len() + 8],
        _ => Setup { session_id: 1, stream_id: STREAM, mtu: 1408, ..ANY_SETUP }
            .frame()
            .as_bytes()
            .to_vec(),
    }
}

/// What a subscription answers that counts nothing: a status message of 36 bytes for each
/// heartbeat of 32, and more than the 40 of a SETUP.
pub fn careless_subscription(question: &[u8]) -> Vec<u8> {
    vec![0; if question.get(6) == Some(&5) { 48 } else { 36 }]
}

/// What a lease's publisher answers that believes every address: the grant, and a message.
pub fn careless_lease(question: &[u8]) -> Vec<u8> {
    vec![0; question.len() + 8]
}

const ANY_SETUP: Setup = Setup {
    flags: 0,
    term_offset: 0,
    session_id: 0,
    stream_id: 0,
    initial_term_id: 0,
    active_term_id: 0,
    term_length: 1 << 16,
    mtu: 0,
    ttl: 0,
};
