//! The other end by hand: frames as they are on the wire, and time as an argument.

use std::net::{SocketAddr, UdpSocket};

use taut_aeron::frame::{
    DataHeader, FrameKind, RoundTripFrame, Setup, Status, control_flags, frame_kind,
};
use taut_channel::{Publication, Subscription};
use taut_sys::monotonic;
use taut_types::Nanos;

use super::ends::{PATIENCE, opening, uri};

pub const STREAM: i32 = 7;
/// Where the tests' clocks begin.
pub const BEGIN: Nanos = Nanos::from_secs(1000);

fn socket() -> UdpSocket {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    socket.set_nonblocking(true).expect("one that does not wait");
    socket
}

fn receive(socket: &UdpSocket) -> Option<Vec<u8>> {
    let mut bytes = [0; 65_536];
    let length = socket.recv(&mut bytes).ok()?;
    Some(bytes[..length].to_vec())
}

/// Turns until something is heard that is looked for.
fn until<R>(mut turn: impl FnMut() -> Option<R>) -> R {
    let begun = monotonic();
    loop {
        if let Some(found) = turn() {
            return found;
        }
        assert!(monotonic() - begun < PATIENCE, "it is heard");
    }
}

/// A receiver of one publication.
pub struct RawReceiver {
    socket: UdpSocket,
    peer: Option<SocketAddr>,
    pub id: i64,
}

impl RawReceiver {
    pub fn new(id: i64) -> Self {
        Self { socket: socket(), peer: None, id }
    }

    pub fn endpoint(&self) -> SocketAddr {
        self.socket.local_addr().expect("an address")
    }

    /// A publication to this receiver.
    pub fn publication(&self, more: &str) -> Publication {
        let send = format!("aeron:udp?endpoint={}|stream-id={STREAM}{more}", self.endpoint());
        Publication::open(&uri(&send), &opening(0.0, 0)).expect("send")
    }

    /// The next datagram that is here.
    pub fn next(&mut self) -> Option<Vec<u8>> {
        let mut bytes = [0; 65_536];
        let (length, from) = self.socket.recv_from(&mut bytes).ok()?;
        self.peer = Some(from);
        Some(bytes[..length].to_vec())
    }

    /// Lets the publication work until its SETUP is here.
    pub fn setup(&mut self, publication: &mut Publication, now: Nanos) -> Setup {
        until(|| {
            publication.work(now);
            let frame = self.next()?;
            if frame_kind(&frame) == Ok(FrameKind::Setup) { Setup::read(&frame) } else { None }
        })
    }

    /// Lets the publication work until a datagram of this kind is here.
    pub fn data(
        &mut self,
        publication: &mut Publication,
        now: Nanos,
        is_wanted: impl Fn(&DataHeader) -> bool,
    ) -> (DataHeader, usize) {
        until(|| {
            publication.work(now);
            let bytes = self.next()?;
            let is_data = frame_kind(&bytes) == Ok(FrameKind::Data);
            let header = DataHeader::read(&bytes).filter(|header| is_data && is_wanted(header))?;
            Some((header, bytes.len()))
        })
    }

    /// Says how far it is, and lets the publication work until it has heard that.
    pub fn say(
        &self,
        publication: &mut Publication,
        now: Nanos,
        setup: &Setup,
        (window, group_tag): (i32, Option<i64>),
    ) {
        let status = Status {
            flags: 0,
            session_id: setup.session_id,
            stream_id: setup.stream_id,
            term_id: setup.active_term_id,
            term_offset: setup.term_offset,
            window,
            receiver_id: self.id,
            group_tag,
        };
        let peer = self.peer.expect("it was heard");
        self.socket.send_to(status.frame().as_bytes(), peer).expect("sent");
        // What lies behind it is no frame, which is counted.
        self.socket.send_to(&[0], peer).expect("sent");
        let (before, mut now) = (publication.counters().malformed, now);
        until(|| {
            // A publication does not look more often than time goes on.
            now = now + Nanos::from_micros(3);
            publication.work(now);
            (publication.counters().malformed > before).then_some(())
        });
    }
}

/// A sender to one subscription.
pub struct RawSender {
    socket: UdpSocket,
    to: SocketAddr,
    pub setup: Setup,
}

impl RawSender {
    /// A subscription, and a sender to it.
    pub fn open(more: &str) -> (Self, Subscription) {
        let listen = format!("aeron:udp?endpoint=127.0.0.1:0|stream-id={STREAM}{more}");
        let subscription = Subscription::open(&uri(&listen), &opening(0.0, 0)).expect("listen");
        let port = subscription.local_address().expect("an address").port();
        let setup = Setup {
            flags: control_flags::SETUP_PROMPT,
            term_offset: 0,
            session_id: 5,
            stream_id: STREAM,
            initial_term_id: 0,
            active_term_id: 0,
            term_length: 1 << 20,
            mtu: 1408,
            ttl: 0,
        };
        (Self { socket: socket(), to: ([127, 0, 0, 1], port).into(), setup }, subscription)
    }

    pub fn send(&self, frame: &[u8]) {
        self.socket.send_to(frame, self.to).expect("sent");
    }

    pub fn send_setup(&self) {
        self.send(self.setup.frame().as_bytes());
    }

    /// A message of 32 bytes, which takes 64.
    pub fn send_data(&self, term_offset: i32) {
        let header = DataHeader {
            frame_length: 64,
            flags: 0xc0,
            is_padding: false,
            term_offset,
            session_id: self.setup.session_id,
            stream_id: STREAM,
            term_id: 0,
            reserved_value: 0,
        };
        let mut frame = header.bytes().to_vec();
        frame.resize(64, 9);
        self.send(&frame);
    }

    /// Sends an echo.
    pub fn echo(&self, asked: &RoundTripFrame) {
        self.send(RoundTripFrame { flags: 0, ..*asked }.frame().as_bytes());
    }

    /// What the subscription has said, and its kind.
    pub fn next(&self) -> Option<(FrameKind, Vec<u8>)> {
        let frame = receive(&self.socket)?;
        Some((frame_kind(&frame).expect("a frame"), frame))
    }

    /// Polls until a frame of a kind is here; other ones are passed over.
    pub fn until(&self, subscription: &mut Subscription, now: Nanos, kind: FrameKind) -> Vec<u8> {
        until(|| {
            subscription.poll(now, 64, |_| {});
            let (heard, frame) = self.next()?;
            (heard == kind).then_some(frame)
        })
    }

    /// Lets the subscription join, and returns its first status message.
    pub fn join(&self, subscription: &mut Subscription, now: Nanos) -> Status {
        self.send_setup();
        until(|| {
            subscription.poll(now, 64, |_| {});
            match self.next()? {
                (FrameKind::RoundTrip, frame) => {
                    let asked = RoundTripFrame::read(&frame).expect("a question");
                    self.echo(&asked);
                    None
                }
                (FrameKind::Status, frame) => Status::read(&frame),
                _ => None,
            }
        })
    }
}
