//! The feed's sockets: two lines, the snapshot cycle, and requests for packets.

use taut_io::{Endpoint, Handle, Io, IoError, Kernel, Operation};
use taut_market_data::Source;
use taut_market_data::feed::RetransmitRequest;
use taut_market_data::native::PACKET_BYTES_MAX;
use taut_sys::{DatagramOptions, tape};
use taut_types::Nanos;

use crate::error::GatewayError;
use crate::stream::{FeedSession, FeedStreams};

/// The sockets of a feed whose frames are datagrams.
#[derive(Debug)]
pub struct FeedSockets {
    /// Numbered increments: line A.
    pub incremental: FeedSocket,
    /// Line B, which brings the same packets.
    pub incremental_b: Option<FeedSocket>,
    /// The snapshot cycle; read only while the book must be recovered.
    pub snapshot: FeedSocket,
    /// Connected to where the venue sends packets again; used only while the book must be
    /// recovered. Without it, a snapshot closes what both lines have lost.
    pub retransmission: Option<FeedSocket>,
}

/// A datagram socket: one that was opened elsewhere, or that the kernel of the gateway's loop is to
/// open.
pub type FeedSocket = Endpoint<DatagramOptions>;

/// How frames come to a gateway.
#[derive(Debug)]
pub enum FeedInput {
    /// As datagrams.
    Datagrams(FeedSockets),
    /// As messages of WebSockets.
    Streams(FeedStreams),
    /// As messages of one WebSocket on which the venue is told what is wanted.
    Session(FeedSession),
    /// From whoever has them, with [`Gateway::handle_frame`](crate::Gateway::handle_frame): a
    /// connection that is driven elsewhere, or a recording.
    HandedOver,
}

/// In a gateway that spins, line B is looked at so long after a tick of line A, until it is empty,
/// and then every so often: what it brings is mostly the copy of that tick, which must not stand in
/// the way of the order that follows. Where line B is the first, it is looked at in every turn.
const LINE_B_WAITS: Nanos = Nanos::from_micros(20);

/// The sockets on the loop.
#[derive(Debug)]
pub(crate) struct Feed {
    /// Those that are received.
    lines: Option<Lines>,
    backup: Option<Backup>,
    /// Whether snapshots and answers are received: only while the book must be recovered.
    recovering: bool,
    hot: bool,
    receive_errors: u64,
}

/// Where one copy of the feed arrives.
#[derive(Debug)]
struct Lines {
    incremental: Handle,
    line_b: Option<LineB>,
    snapshot: Handle,
    retransmission: Option<Handle>,
}

/// How line B is received.
#[derive(Debug)]
enum LineB {
    /// By the loop, which sleeps until it brings something.
    OnLoop(Handle),
    /// By looking, when there is nothing better to do.
    Looked(Look),
}

/// A socket and where its datagram goes.
#[derive(Debug)]
struct Look {
    socket: Handle,
    buffer: Box<[u8; BUFFER_BYTES]>,
    due: Nanos,
}

/// A datagram longer than any packet fills more than a packet's bytes, and is no packet.
const BUFFER_BYTES: usize = PACKET_BYTES_MAX + 1;

impl Feed {
    pub(crate) fn new(
        io: &mut Io<impl Kernel>,
        input: FeedInput,
        hot: bool,
    ) -> Result<Self, GatewayError> {
        let mut feed =
            Self { lines: None, backup: None, recovering: false, hot, receive_errors: 0 };
        let FeedInput::Datagrams(sockets) = input else { return Ok(feed) };
        let lines = Lines::open(io, sockets, hot)?;
        lines.start(io, hot)?;
        feed.lines = Some(lines);
        feed.recover(io, true)?;
        Ok(feed)
    }

    /// The same feed arrives at other sockets, too: they are taken when those in use have brought
    /// nothing for so long, or the books could not be made sound with what they brought.
    pub(crate) fn add_backup(
        &mut self,
        io: &mut Io<impl Kernel>,
        sockets: FeedSockets,
        after: Nanos,
        now: Nanos,
    ) -> Result<(), GatewayError> {
        let lines = Lines::open(io, sockets, self.hot)?;
        lines.stop(io)?;
        self.backup = Some(Backup { lines, after, sound_at: now, taken_at: now, taken: 0 });
        Ok(())
    }

    /// Takes the other sockets when it is time. `heard` is when a line brought something last.
    pub(crate) fn watch(
        &mut self,
        io: &mut Io<impl Kernel>,
        now: Nanos,
        heard: Nanos,
        is_sound: bool,
    ) -> Result<(), GatewayError> {
        let Some(backup) = &mut self.backup else { return Ok(()) };
        if is_sound {
            backup.sound_at = now;
        }
        let good_at = heard.min(backup.sound_at).max(backup.taken_at);
        if now.since(good_at) >= backup.after { self.take_backup(io, now) } else { Ok(()) }
    }

    #[cold]
    fn take_backup(&mut self, io: &mut Io<impl Kernel>, now: Nanos) -> Result<(), GatewayError> {
        let (Some(lines), Some(backup)) = (&mut self.lines, &mut self.backup) else {
            return Ok(());
        };
        (backup.taken_at, backup.taken) = (now, backup.taken + 1);
        lines.stop(io)?;
        std::mem::swap(lines, &mut backup.lines);
        lines.start(io, self.hot)?;
        self.recover(io, self.recovering)
    }

    /// How often the other sockets were taken.
    pub(crate) fn backups_taken(&self) -> u64 {
        self.backup.as_ref().map_or(0, |backup| backup.taken)
    }

    /// Where a datagram came from; nothing when its socket is none of the feed's.
    #[inline]
    pub(crate) fn source_of(&self, socket: Handle) -> Option<Source> {
        let lines = self.lines.as_ref()?;
        if lines.incremental == socket {
            return Some(Source::LINE_A);
        }
        match &lines.line_b {
            Some(LineB::OnLoop(line)) if socket == *line => Some(Source::LINE_B),
            _ if lines.snapshot == socket => Some(Source::SNAPSHOT),
            _ => (lines.retransmission == Some(socket)).then_some(Source::RETRANSMISSION),
        }
    }

    /// Whether there is somebody to ask for packets.
    pub(crate) fn can_ask(&self) -> bool {
        self.lines.as_ref().is_some_and(|lines| lines.retransmission.is_some())
    }

    /// A line has brought a tick: line B waits after one of line A, and not after its own.
    #[inline]
    pub(crate) const fn ticked(&mut self, source: Source, at: Nanos) {
        if let Some(Lines { line_b: Some(LineB::Looked(look)), .. }) = &mut self.lines {
            look.due = match source {
                Source::LINE_A => Nanos(at.0.saturating_add(LINE_B_WAITS.0)),
                _ => at,
            };
        }
    }

    /// A receive of the loop failed (an ICMP error of an earlier send, say): that line is silent
    /// for now, and what it does not bring, the other one does.
    #[cold]
    pub(crate) fn receive_failed(&mut self, socket: Handle, error: IoError) {
        let is_own = self.source_of(socket).is_some();
        // What is no longer wanted ends as cancelled, which is no fault.
        self.receive_errors += u64::from(is_own && matches!(error, IoError::System(_)));
    }

    pub(crate) const fn receive_errors(&self) -> u64 {
        self.receive_errors
    }

    /// A datagram of line B, if the loop does not receive it and it need not wait. Cost: one system
    /// call, or nothing.
    #[inline]
    pub(crate) fn look_at_line_b(&mut self, io: &mut Io<impl Kernel>, now: Nanos) -> Option<&[u8]> {
        let Some(Lines { line_b: Some(LineB::Looked(look)), .. }) = &mut self.lines else {
            return None;
        };
        if !tape::choose(self.recovering || now >= look.due) {
            return None;
        }
        let got = io.read(look.socket, look.buffer.as_mut_slice()).unwrap_or_else(|_| {
            self.receive_errors += 1;
            None
        });
        // On until it is empty: a line that falls behind is no help when the other loses something.
        look.due = if got.is_some() { now } else { now + LINE_B_WAITS };
        got.and_then(|bytes| look.buffer.get(..bytes))
    }

    /// Receives snapshots and answers from now on, or no longer. What is hot and not received costs
    /// nothing; what is not hot would wake a sleeper.
    #[inline]
    pub(crate) fn set_recovering(
        &mut self,
        io: &mut Io<impl Kernel>,
        recovering: bool,
    ) -> Result<(), GatewayError> {
        if self.recovering == recovering { Ok(()) } else { self.recover(io, recovering) }
    }

    #[cold]
    fn recover(&mut self, io: &mut Io<impl Kernel>, recovering: bool) -> Result<(), GatewayError> {
        self.recovering = recovering;
        let Some(lines) = &self.lines else { return Ok(()) };
        for socket in std::iter::once(lines.snapshot).chain(lines.retransmission) {
            io.set_hot(socket, self.hot || !recovering)?;
            if recovering {
                io.receive(socket)?;
            } else {
                io.cancel(socket, Operation::Receive)?;
            }
        }
        Ok(())
    }

    /// Asks for packets. A request that the kernel does not take is lost, and made again.
    pub(crate) fn ask(&self, io: &mut Io<impl Kernel>, request: &RetransmitRequest) {
        let mut datagram = [0; PACKET_BYTES_MAX];
        if let Some(socket) = self.lines.as_ref().and_then(|lines| lines.retransmission)
            && request.write(&mut datagram)
        {
            let _ = io.send_to(socket, &datagram, None);
        }
    }
}

impl Lines {
    /// Opens them on the loop; nothing is received yet.
    fn open(
        io: &mut Io<impl Kernel>,
        sockets: FeedSockets,
        hot: bool,
    ) -> Result<Self, GatewayError> {
        let incremental = io.datagram_on(sockets.incremental)?;
        let line_b = match sockets.incremental_b {
            None => None,
            Some(socket) if hot => {
                let socket = io.datagram_on(socket)?;
                // Nobody is told that it can be read.
                io.set_hot(socket, true)?;
                let buffer = Box::new([0; BUFFER_BYTES]);
                Some(LineB::Looked(Look { socket, buffer, due: Nanos::ZERO }))
            }
            Some(socket) => Some(LineB::OnLoop(io.datagram_on(socket)?)),
        };
        let snapshot = io.datagram_on(sockets.snapshot)?;
        io.set_priority(snapshot, 2)?;
        let retransmission =
            sockets.retransmission.map(|socket| io.datagram_on(socket)).transpose()?;
        Ok(Self { incremental, line_b, snapshot, retransmission })
    }

    /// Receives what the lines bring.
    fn start(&self, io: &mut Io<impl Kernel>, hot: bool) -> Result<(), GatewayError> {
        io.set_hot(self.incremental, hot)?;
        io.receive(self.incremental)?;
        if let Some(LineB::OnLoop(line)) = self.line_b {
            io.set_hot(line, false)?;
            io.receive(line)?;
        }
        Ok(())
    }

    /// Receives nothing any more, and nothing that arrives wakes a sleeper: see [`Feed::recover`].
    fn stop(&self, io: &mut Io<impl Kernel>) -> Result<(), GatewayError> {
        let line_b = match self.line_b {
            Some(LineB::OnLoop(line)) => Some(line),
            _ => None,
        };
        let sockets = [Some(self.incremental), line_b, Some(self.snapshot), self.retransmission];
        for socket in sockets.into_iter().flatten() {
            io.set_hot(socket, true)?;
            io.cancel(socket, Operation::Receive)?;
        }
        Ok(())
    }
}

/// Other sockets where the same feed arrives.
#[derive(Debug)]
struct Backup {
    lines: Lines,
    /// They are taken when those in use were no good for so long.
    after: Nanos,
    /// When the books could be trusted last.
    sound_at: Nanos,
    /// When the sockets in use were taken.
    taken_at: Nanos,
    taken: u64,
}
