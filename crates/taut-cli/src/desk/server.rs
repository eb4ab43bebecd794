//! The desk's connections on the loop.

use serde::Deserialize;
use serde_json::json;
use taut_io::{Completion, EpollKernel, Handle, Io};
use taut_net::{TlsServerConfig, Wire};
use taut_sys::stop_requests;
use taut_types::Nanos;
use taut_ws::Event;

use super::access::{Access, Role};
use super::board::{Board, WhoAsked};
use super::http::{Answer, JSON, Parsed, Request, parse};
use super::page;
use super::peer::{Peer, Speaks};

/// Pages and requests at a time, of which one address has half.
pub const CONNECTIONS_MAX: usize = 64;
/// How often pages are told what is new.
const INTERVAL: Nanos = Nanos::from_secs(1);

/// What a page asks for.
#[derive(Deserialize, Debug)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
enum Said {
    /// The kill switch of a gateway, whose name is typed once more; `revive` lets orders pass
    /// again.
    Kill { gateway: String, confirm: String, revive: bool },
    /// The book of an instrument to its depth.
    Follow { gateway: String, symbol: String },
}

/// Answers requests and keeps pages up to date.
#[derive(Debug)]
pub struct Server {
    access: Access,
    tls: Option<TlsServerConfig>,
    board: Board,
    /// By the place of their streams.
    peers: Vec<Option<Peer>>,
    next_look: Nanos,
}

impl Server {
    /// One that nobody has asked yet, with room for so many sources.
    pub fn new(access: Access, tls: Option<TlsServerConfig>, board: Board, sources: usize) -> Self {
        let peers = (0..sources).map(|_| None).collect();
        Self { access, tls, board, peers, next_look: Nanos::ZERO }
    }

    /// Does what a completion asks for, and stops the loop at a signal.
    pub fn handle(&mut self, io: &mut Io<EpollKernel>, completion: &Completion<'_>) {
        match *completion {
            Completion::Accepted { stream, .. } => {
                match (Wire::start(io, stream, self.tls.as_ref()), self.place(stream)) {
                    (Ok(wire), Some(place)) => *place = Some(Peer::new(wire)),
                    // A stale handle is closed already.
                    _ => drop(io.close(stream)),
                }
            }
            Completion::Timer { .. } => self.time_passed(io),
            Completion::Received { stream, .. }
            | Completion::Written { stream, .. }
            | Completion::Ended { stream } => self.serve(io, stream, completion),
            Completion::Failed { source, .. } | Completion::Closed { source, .. } => {
                self.serve(io, source, completion);
            }
            _ => {}
        }
    }

    fn place(&mut self, stream: Handle) -> Option<&mut Option<Peer>> {
        self.peers.get_mut(stream.index())
    }

    fn serve(&mut self, io: &mut Io<EpollKernel>, stream: Handle, completion: &Completion<'_>) {
        let Some(place) = self.place(stream) else { return };
        let Some(peer) = place.as_mut().filter(|it| it.wire.stream() == stream) else { return };
        let arrived = peer.wire.handle(io, completion);
        if let Completion::Written { token, .. } = *completion {
            peer.has_room(token);
        }
        if !arrived.bytes.is_empty() && !peer.is_ending() {
            self.hear(io, stream, &arrived.bytes);
        }
        let Some(place) = self.place(stream) else { return };
        match (place.as_mut(), completion) {
            (_, Completion::Closed { .. }) => *place = None,
            // Who has its answer may have no more to say.
            (Some(peer), _) if arrived.has_ended && !peer.is_ending() => peer.close(io),
            (Some(peer), _) => peer.flush(io),
            (None, _) => {}
        }
    }

    /// Takes what a peer says.
    fn hear(&mut self, io: &mut Io<EpollKernel>, stream: Handle, bytes: &[u8]) {
        let Self { access, board, peers, .. } = self;
        let Some(peer) = peers.get_mut(stream.index()).and_then(Option::as_mut) else { return };
        let Speaks::Http(input) = &mut peer.speaks else {
            return listen(io, peer, board, access.asks(), bytes);
        };
        input.extend_from_slice(bytes);
        let (answer, with_body) = match parse(input) {
            Parsed::Partial => return,
            Parsed::Bad(status) => (Answer::refusal(status, "this is no request"), true),
            Parsed::Request(request) => {
                (answered(access, board, &request), request.method != "HEAD")
            }
            Parsed::Upgrade(request) => match admitted(access, &request) {
                Ok(role) => {
                    let bytes = std::mem::take(input);
                    if peer.upgrade(role, io.now()).is_ok() {
                        return listen(io, peer, board, access.asks(), &bytes);
                    }
                    (Answer::refusal(503, "no room"), true)
                }
                Err(refusal) => (refusal, true),
            },
        };
        peer.answer(io, answer.bytes(with_body));
    }

    fn time_passed(&mut self, io: &mut Io<EpollKernel>) {
        if stop_requests() > 0 {
            self.peers.iter_mut().flatten().for_each(|peer| peer.go_away(io));
            return io.stop();
        }
        for (who, said) in self.board.answers() {
            let peer = self.peers.get_mut(who.index()).and_then(Option::as_mut);
            if let Some(peer) = peer.filter(|peer| peer.wire.stream() == who) {
                peer.tell(io, &said);
            }
        }
        self.peers.iter_mut().flatten().for_each(|peer| peer.time_passed(io));
        let now = io.now();
        if now < self.next_look {
            return;
        }
        // A look that took long is followed by a whole pause.
        self.next_look = now + INTERVAL;
        self.board.look();
        for peer in self.peers.iter_mut().flatten() {
            if peer.is_too_slow(now) {
                peer.abort(io);
            } else if peer.is_live() && peer.is_up_to_date() {
                let (text, next_event) = self.board.told_since(peer.next_event);
                peer.next_event = next_event;
                if !peer.tell(io, &text) {
                    peer.abort(io);
                }
            }
        }
    }
}

/// What who asks for a WebSocket may do there, or why there is none.
fn admitted(access: &Access, request: &Request) -> Result<Role, Answer> {
    if !access.is_our_host(request) {
        return Err(stranger());
    }
    if request.path != "/live" {
        return Err(Answer::refusal(404, "the WebSocket is at /live"));
    }
    if !Access::is_same_origin(request) {
        return Err(Answer::refusal(403, "another page's WebSocket"));
    }
    access.role(request).ok_or_else(|| Answer::refusal(401, "a token is asked for"))
}

fn stranger() -> Answer {
    Answer::refusal(421, "this host is not the desk's: `taut desk --host NAME` lets a name in")
}

/// The answer to a request.
fn answered(access: &mut Access, board: &mut Board, request: &Request) -> Answer {
    if !access.is_our_host(request) {
        return stranger();
    }
    let is_get = matches!(request.method.as_str(), "GET" | "HEAD");
    if request.path == "/login" && request.method == "POST" {
        return logged_on(access, request);
    }
    if !is_get {
        return Answer::refusal(405, "GET, or POST /login");
    }
    if let Some(file) = page::file(&request.path) {
        return file;
    }
    let role = access.role(request);
    if request.path == "/role" {
        // Who has none is told so: what to ask a user for is no error of the page's.
        return Answer::new(200, JSON, json!({ "role": role }).to_string());
    }
    if role.is_none() {
        return Answer::refusal(401, "a token is asked for: Authorization: Bearer TOKEN");
    }
    match request.path.as_str() {
        "/snapshot" => Answer::new(200, JSON, board.snapshot()),
        path => board.answer(path).unwrap_or_else(|| {
            Answer::refusal(404, "nothing is here; the page is at /, its figures at /snapshot")
        }),
    }
}

fn logged_on(access: &mut Access, request: &Request) -> Answer {
    if !Access::is_same_origin(request) {
        return Answer::refusal(403, "another page's request");
    }
    let token = String::from_utf8_lossy(&request.body);
    match access.log_on(token.trim()) {
        Some((role, cookie)) => {
            let said = json!({ "role": role }).to_string();
            Answer { cookie: Some(cookie), ..Answer::new(200, JSON, said) }
        }
        None => Answer::refusal(403, "this is none of the tokens"),
    }
}

/// Takes what a page says over its WebSocket.
fn listen(io: &mut Io<EpollKernel>, peer: &mut Peer, board: &mut Board, asks: bool, bytes: &[u8]) {
    let (mut rest, now, who) = (bytes, io.now(), peer.wire.stream());
    let mut is_new = false;
    while let Speaks::Live(socket, role) = &mut peer.speaks
        && !rest.is_empty()
    {
        let handled = socket.handle_bytes(now, rest);
        if handled.consumed == 0 && handled.event.is_none() {
            // A request that could not be accepted takes nothing more.
            break;
        }
        match handled.event {
            Some(Event::Requested(_)) => is_new |= handled.outbox.accept(None, &[]).is_ok(),
            Some(Event::Text(text)) => said(board, who, *role, text),
            _ => {}
        }
        let consumed = handled.consumed;
        rest = rest.get(consumed..).unwrap_or_default();
    }
    if let Speaks::Live(_, role) = peer.speaks
        && is_new
    {
        // A stale handle is closed already.
        let _ = io.prove(who);
        let (hello, next_event) = board.hello(role, asks);
        peer.next_event = next_event;
        if !peer.tell(io, &hello) {
            peer.abort(io);
        }
    }
    peer.flush(io);
}

/// Does what a page asks for, where its user may.
fn said(board: &mut Board, who: WhoAsked, role: Role, text: &str) {
    let (gateway, confirm, revive) = match serde_json::from_str(text) {
        Ok(Said::Kill { gateway, confirm, revive }) => (gateway, confirm, revive),
        Ok(Said::Follow { gateway, symbol }) => return board.follow(&gateway, &symbol),
        Err(_) => return board.refuse(who, "", "this is nothing that the desk knows"),
    };
    if role < Role::Control {
        board.refuse(who, &gateway, "you may look: the kill switch asks for a control token");
    } else if confirm != gateway {
        board.refuse(who, &gateway, "the gateway's name was not typed as it is");
    } else {
        board.kill(who, &gateway, revive);
    }
}
