//! What the kernel carries of the same datagrams without a protocol: runs by segmentation offload,
//! received with offload too. What is lost is not sent again, and not counted. One buffer is sent
//! again and again; or, `is_written`, every message is written into its frame behind a header and
//! its sequence read at the other end, as a program with messages must.

use std::thread;

use taut_sys::{Address, DatagramBatch, DatagramOptions, Socket, monotonic, pin_to_cpu};
use taut_types::Nanos;

const FRAME: usize = 128;
const HEADER: usize = 32;
const RUN_BYTES_MAX: usize = 65_000;

/// Writes the frames of a run, from this sequence on.
fn write(run: &mut [u8], message: &mut [u8], sequence: u64) {
    for (frame, sequence) in run.chunks_exact_mut(FRAME).zip(sequence..) {
        message[..8].copy_from_slice(&sequence.to_le_bytes());
        frame[..4].copy_from_slice(&((HEADER + message.len()) as u32).to_le_bytes());
        frame[8..16].copy_from_slice(&(sequence * FRAME as u64).to_le_bytes());
        frame[HEADER..HEADER + message.len()].copy_from_slice(message);
    }
}

/// Reads the sequences of the frames; what is lost leaves a gap.
fn read(frames: &[u8], next: &mut u64) -> u64 {
    let mut count = 0;
    for frame in frames.chunks_exact(FRAME) {
        let bytes = frame[HEADER..].first_chunk().expect("eight bytes");
        let sequence = u64::from_le_bytes(*bytes);
        assert!(sequence >= *next, "in order");
        *next = sequence + 1;
        count += 1;
    }
    count
}

pub fn run(mtu: usize, count: u64, size: usize, is_written: bool) {
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
    let mut run = vec![1u8; RUN_BYTES_MAX / datagram * datagram];
    let sending = thread::spawn(move || {
        let _ = pin_to_cpu(0);
        let mut message = vec![1; size];
        let mut sent = 0;
        while sent < count {
            if is_written {
                write(&mut run, &mut message, sent);
            }
            let taken = sender.send_segmented(&run, datagram as u16).unwrap_or(0);
            sent += (taken / FRAME) as u64;
        }
        sent
    });
    let _ = pin_to_cpu(1);
    let mut batch = DatagramBatch::new(16, 65_536 + 192);
    let mut next = 0;
    let (mut begun, mut last, mut received) = (Nanos::ZERO, Nanos::ZERO, 0u64);
    while !sending.is_finished() || last + Nanos::from_millis(50) > monotonic() {
        for place in 0..receiver.receive_batch(&mut batch).expect("receive") {
            let bytes = batch.bytes(place);
            received +=
                if is_written { read(bytes, &mut next) } else { (bytes.len() / FRAME) as u64 };
            last = monotonic();
            if begun == Nanos::ZERO {
                begun = last;
            }
        }
    }
    let sent = sending.join().expect("sender");
    let rate = received as f64 / ((last - begun).0 as f64 / 1e9);
    println!(
        "{{\"peer\":\"bare\",\"written\":{is_written},\"mtu\":{mtu},\"sent\":{sent},\
         \"received\":{received},\"msgs_per_s\":{rate:.0}}}"
    );
}
