//! What hostile peers send.

use taut_aeron::frame::{
    DataHeader, RoundTripFrame, Setup, Status, control_flags, data_flags, write_heartbeat,
};
use taut_lease::{CONTROL_BYTES, Header, Kind};
use taut_testkit::{Draw, Random};
use taut_types::Nanos;

pub const STREAM: i32 = 7;

/// Makes a datagram.
pub type Forge = fn(&mut Random) -> Vec<u8>;

/// Now and then something else: bytes changed, cut off, or nothing but chance.
fn spoil(random: &mut Random, mut frame: Vec<u8>) -> Vec<u8> {
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

/// Asks a publication for SETUPs and echoes.
pub fn to_publication(random: &mut Random) -> Vec<u8> {
    let (session_id, any) = (random.i32(..), random.i64(..));
    let frame = match random.below(4) {
        0 => RoundTripFrame {
            flags: control_flags::REPLY,
            session_id,
            stream_id: STREAM,
            echo: any,
            reception_delta: 0,
            receiver_id: any,
        }
        .frame(),
        _ => Status {
            flags: control_flags::SEND_SETUP,
            session_id: 0,
            stream_id: 0,
            term_id: 0,
            term_offset: 0,
            window: 0,
            receiver_id: any,
            group_tag: random.bool().then_some(any),
        }
        .frame(),
    };
    spoil(random, frame.as_bytes().to_vec())
}

/// Begins sessions at a subscription.
pub fn to_subscription(random: &mut Random) -> Vec<u8> {
    let session_id = random.i32(..);
    let frame = match random.below(2) {
        0 => Setup {
            flags: 0,
            term_offset: 0,
            session_id,
            stream_id: STREAM,
            initial_term_id: 0,
            active_term_id: 0,
            term_length: 1 << 30,
            mtu: 1408,
            ttl: 0,
        }
        .frame()
        .as_bytes()
        .to_vec(),
        _ => {
            let header = DataHeader {
                frame_length: 0,
                flags: data_flags::UNFRAGMENTED,
                is_padding: false,
                term_offset: 0,
                session_id,
                stream_id: STREAM,
                term_id: 0,
                reserved_value: 0,
            };
            let mut heartbeat = vec![0; 32];
            write_heartbeat(&header, &mut heartbeat);
            heartbeat
        }
    };
    spoil(random, frame)
}

/// Asks for leases.
pub fn to_lease_publisher(random: &mut Random) -> Vec<u8> {
    let kind = random.pick(&[Kind::Ask, Kind::Ask, Kind::Ask, Kind::Leave]);
    let header = Header {
        kind,
        message_type: 0,
        session: 0,
        sequence: random.u64(..),
        sent: Nanos(random.i64(..)),
    };
    let mut frame = header.to_bytes().to_vec();
    frame.resize(CONTROL_BYTES, 0);
    spoil(random, frame)
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
