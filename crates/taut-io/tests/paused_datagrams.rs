//! A socket that is not received for a while, until it has no room for another datagram.
#![forbid(unsafe_code)]

use std::net::UdpSocket;

use taut_io::{
    Completion, EpollKernel, EventLoop, Handle, Io, LoopConfig, Operation, WaitStrategy,
};
use taut_sys::{Address, DatagramOptions};
use taut_types::Nanos;

/// More than fits the receive buffer.
const FLOOD: usize = 2_000;

#[test]
fn a_socket_that_has_filled_up_while_it_was_not_received_is_read_again() {
    let kernel = EpollKernel::new(4).unwrap();
    let mut events = EventLoop::new(kernel, LoopConfig::default()).unwrap();
    let at = Address::Inet("127.0.0.1:0".parse().unwrap());
    let options =
        DatagramOptions { receive_buffer_bytes: Some(16_384), ..DatagramOptions::default() };
    let socket: Handle = events.io().datagram(&at, &options).unwrap();
    let to = events.io().local_address(socket).unwrap().inet().unwrap();
    let sender = UdpSocket::bind("127.0.0.1:0").unwrap();
    let send = |byte: u8| sender.send_to(&[byte; 100], to).unwrap();

    // Read with one call, of which a part is handed over.
    (1..=3).for_each(|byte| _ = send(byte));
    events.io().receive(socket).unwrap();
    let mut received = Vec::new();
    let mut pause = |io: &mut Io<EpollKernel>, completion: Completion<'_>| {
        if let Completion::Datagram { bytes, .. } = completion {
            received.push(bytes[0]);
            io.cancel(socket, Operation::Receive).unwrap();
            io.stop();
        }
    };
    events.run_for(&mut pause, WaitStrategy::Block, Nanos::from_secs(5)).unwrap();
    assert_eq!(received, [1]);

    // What comes now is told by edges as long as there is room, and nobody receives it.
    (0..FLOOD).for_each(|_| _ = send(4));
    for _ in 0..8 {
        events.poll(&mut |_: &mut Io<EpollKernel>, _: Completion<'_>| {}).unwrap();
    }
    events.io().receive(socket).unwrap();
    let mut go_on = |io: &mut Io<EpollKernel>, completion: Completion<'_>| {
        if let Completion::Datagram { bytes, .. } = completion {
            received.push(bytes[0]);
            if bytes[0] == 4 {
                io.stop();
            }
        }
    };
    events.run_for(&mut go_on, WaitStrategy::Block, Nanos::from_secs(5)).unwrap();
    assert_eq!(received, [1, 2, 3, 4]);
}
