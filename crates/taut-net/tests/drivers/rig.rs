//! What the cases share.

use taut_io::{Admission, Completion, EventLoop, Handle, Io, Kernel, LoopConfig, WaitStrategy};
use taut_net::{Connecting, Connector, NetError};
use taut_sys::{Address, StreamOptions};
use taut_types::Nanos;

const CONFIG: LoopConfig = LoopConfig {
    sources_max: 64,
    timers_max: 64,
    posts_max: 64,
    write_bytes_max: 64 * 1024,
    writes_max: 32,
    receives_per_visit: 4,
    completions_per_turn: 64,
};

pub const fn patience() -> Nanos {
    Nanos::from_secs(20)
}

pub fn events<K: Kernel>(kernel: K) -> EventLoop<K> {
    EventLoop::new(kernel, CONFIG).expect("a loop")
}

pub fn at(text: &str) -> Address {
    Address::Inet(text.parse().expect("an address"))
}

/// Runs until `step` says that it is done.
pub fn until<K: Kernel>(
    events: &mut EventLoop<K>,
    what: &str,
    mut step: impl FnMut(&mut Io<K>, &Completion<'_>) -> bool,
) {
    let mut done = false;
    let mut handler = |io: &mut Io<K>, completion: Completion<'_>| {
        if step(io, &completion) {
            done = true;
            io.stop();
        }
    };
    events.run_for(&mut handler, WaitStrategy::Block, patience()).expect("run");
    assert!(done, "not in time: {what}");
}

/// Drives a connector to its end.
pub fn finish<K: Kernel>(
    events: &mut EventLoop<K>,
    connector: &mut Connector,
) -> Result<Handle, NetError> {
    let mut result = None;
    until(events, "connecting", |io, completion| {
        match connector.handle(io, completion) {
            Connecting::Connected(stream) => result = Some(Ok(stream)),
            Connecting::Failed(error) => result = Some(Err(error)),
            Connecting::Underway | Connecting::NotMine => {}
        }
        result.is_some()
    });
    result.expect("a result")
}

/// Two connected streams that receive: the connecting end and the accepted one.
pub fn pair<K: Kernel>(events: &mut EventLoop<K>) -> (Handle, Handle) {
    let listener = events
        .io()
        .listen(&at("127.0.0.1:0"), &StreamOptions::default(), &Admission::OPEN)
        .unwrap();
    let to = events.io().local_address(listener).unwrap();
    let near = events.io().connect(&to, &StreamOptions::default(), None).unwrap();
    let (mut far, mut stands) = (None, false);
    until(events, "both ends", |_, completion| {
        match completion {
            Completion::Accepted { stream, .. } => far = Some(*stream),
            Completion::Connected { .. } => stands = true,
            _ => {}
        }
        far.is_some() && stands
    });
    let far = far.expect("accepted");
    events.io().receive(near).unwrap();
    events.io().receive(far).unwrap();
    events.io().close(listener).unwrap();
    (near, far)
}
