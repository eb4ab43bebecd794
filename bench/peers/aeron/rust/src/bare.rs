//! What the kernel carries of the same datagrams without a protocol: runs by segmentation offload,
//! received with offload too. What is lost is not sent again, and not counted.

use std::thread;

use taut_sys::{Address, DatagramBatch, DatagramOptions, Socket, monotonic};
use taut_types::Nanos;

const FRAME: usize = 128;
const RUN_BYTES_MAX: usize = 65_000;

pub fn run(mtu: usize, count: u64) {
    let any = Address::Inet("127.0.0.1:0".parse().expect("an address"));
    let bytes = Some(2 << 20);
    let options = DatagramOptions {
        coalesce: true,
        receive_buffer_bytes: bytes,
        ..DatagramOptions::default()
    };
    let receiver = Socket::datagram(&any, &options).expect("receiver");
    let peer = receiver.local_address().expect("an address").inet();
    let options = DatagramOptions { peer, send_buffer_bytes: bytes, ..DatagramOptions::default() };
    let sender = Socket::datagram(&any, &options).expect("sender");
    let datagram = mtu / FRAME * FRAME;
    let run = vec![1u8; RUN_BYTES_MAX / datagram * datagram];
    let sending = thread::spawn(move || {
        let mut sent = 0;
        while sent < count {
            let taken = sender.send_segmented(&run, datagram as u16).unwrap_or(0);
            sent += (taken / FRAME) as u64;
        }
        sent
    });
    let mut batch = DatagramBatch::new(16, 65_536 + 192);
    let (mut begun, mut last, mut received) = (Nanos::ZERO, Nanos::ZERO, 0u64);
    while !sending.is_finished() || last + Nanos::from_millis(50) > monotonic() {
        for place in 0..receiver.receive_batch(&mut batch).expect("receive") {
            received += (batch.bytes(place).len() / FRAME) as u64;
            last = monotonic();
            if begun == Nanos::ZERO {
                begun = last;
            }
        }
    }
    let sent = sending.join().expect("sender");
    let rate = received as f64 / ((last - begun).0 as f64 / 1e9);
    println!(
        "{{\"peer\":\"bare\",\"mtu\":{mtu},\"sent\":{sent},\"received\":{received},\
         \"msgs_per_s\":{rate:.0}}}"
    );
}
