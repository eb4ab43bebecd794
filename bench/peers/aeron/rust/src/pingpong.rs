//! A raw UDP ping-pong: two connected sockets, two threads on a CPU each that look without a wait.

use std::io::ErrorKind;
use std::net::UdpSocket;
use std::thread;

use taut_sys::{monotonic, pin_to_cpu};

use crate::spread::Spread;

/// Pings that are not counted.
pub const WARM: u64 = 1000;

fn socket() -> UdpSocket {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    socket.set_nonblocking(true).expect("a socket that does not wait");
    socket
}

fn receive(socket: &UdpSocket, bytes: &mut [u8]) -> usize {
    loop {
        match socket.recv(bytes) {
            Ok(got) => return got,
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(error) => panic!("{error}"),
        }
    }
}

pub fn run(count: u64, size: usize) {
    let (here, there) = (socket(), socket());
    here.connect(there.local_addr().expect("an address")).expect("connect");
    there.connect(here.local_addr().expect("an address")).expect("connect");
    let rounds = count + WARM;
    let answering = thread::spawn(move || {
        let _ = pin_to_cpu(1);
        let mut bytes = [0; 2048];
        for _ in 0..rounds {
            let got = receive(&there, &mut bytes);
            there.send(&bytes[..got]).expect("send");
        }
    });
    let _ = pin_to_cpu(0);
    let (mut spread, mut bytes) = (Spread::new(count), [0; 2048]);
    let message = vec![1; size];
    for round in 0..rounds {
        let begun = monotonic();
        here.send(&message).expect("send");
        receive(&here, &mut bytes);
        if round >= WARM {
            spread.record((monotonic() - begun).0);
        }
    }
    answering.join().expect("the answering end");
    spread.print("udp");
}
