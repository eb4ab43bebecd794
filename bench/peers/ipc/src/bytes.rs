//! ZeroMQ over a Unix socket, between two processes: PUSH and PULL wait at the high-water mark, so
//! that nothing is lost.

use crate::run::{In, Mode, Out, Outcome, Plan, Shared, fill, in_process, number, read, write};

struct ZmqOut(zmq::Socket, Vec<u8>);
struct ZmqIn(zmq::Socket, Vec<u8>);

impl Out for ZmqOut {
    fn send(&mut self, number: u64) {
        fill(&mut self.1, number);
        self.0.send(&self.1, 0).expect("send");
    }
}

impl In for ZmqIn {
    fn take(&mut self, each: &mut dyn FnMut(Option<u64>)) -> usize {
        match self.0.recv_into(&mut self.1, 0) {
            Ok(size) => {
                each(number(&self.1[..size]));
                1
            }
            Err(_) => 0,
        }
    }
}

pub fn zeromq(plan: &Plan) -> Outcome {
    let shared = Shared::new();
    let run = std::process::id();
    let path = |way: &str| format!("ipc:///tmp/peer-{run}-{way}");
    let both_ways = plan.mode == Mode::RoundTrip;
    let (size, mark) = (plan.size, plan.capacity as i32);
    let push = |context: &zmq::Context, way: &str, bind: bool| {
        let socket = context.socket(zmq::PUSH).expect("socket");
        socket.set_sndhwm(mark).expect("mark");
        let made = if bind { socket.bind(&path(way)) } else { socket.connect(&path(way)) };
        made.expect("push");
        ZmqOut(socket, vec![0; size])
    };
    let pull = |context: &zmq::Context, way: &str, bind: bool| {
        let socket = context.socket(zmq::PULL).expect("socket");
        socket.set_rcvhwm(mark).expect("mark");
        socket.set_rcvtimeo(100).expect("time-out");
        let made = if bind { socket.bind(&path(way)) } else { socket.connect(&path(way)) };
        made.expect("pull");
        ZmqIn(socket, vec![0; size])
    };
    let ended = in_process(|| {
        let context = zmq::Context::new();
        let echo = both_ways.then(|| push(&context, "back", true));
        read(shared, plan.cpus[1], pull(&context, "out", true), echo);
    });
    let context = zmq::Context::new();
    let back = both_ways.then(|| pull(&context, "back", false));
    let outcome = write(shared, plan, push(&context, "out", false), back);
    ended();
    for way in ["out", "back"] {
        let _ = std::fs::remove_file(format!("/tmp/peer-{run}-{way}"));
    }
    outcome
}
