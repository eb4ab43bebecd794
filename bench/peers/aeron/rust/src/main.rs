//! Peers of `aeron:udp?...`: Aeron's C media driver, and a bare stream of datagrams.
//!
//! `send|receive CHANNEL STREAM COUNT`: one side, as bench/peers/aeron/java/Peer.java, for interop.
//! `throughput CHANNEL STREAM COUNT SIZE`: both sides and one driver in this process; JSON.
//! `ping THERE BACK STREAM COUNT SIZE`: round trips over two channels; JSON in nanoseconds.
//! `pace CHANNEL STREAM COUNT SIZE RATE`: one-way times at a rate; JSON in nanoseconds.
//! `taut CHANNEL COUNT SIZE LOSS`: taut's two ends, used as Aeron's in `throughput`; JSON.
//! `bare MTU COUNT`: datagrams full of 128-byte frames, by segmentation offload; JSON.
//! `written MTU COUNT SIZE`: the same, each message written and its sequence read; JSON.
//! `udp COUNT SIZE`: a raw UDP ping-pong; JSON in nanoseconds.

#[cfg(feature = "aeron")]
mod aeron;
mod bare;
mod ours;
mod pingpong;
mod spread;

use std::process::ExitCode;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let number = |text: &str| text.parse::<u64>().expect("a number");
    match words[..] {
        ["bare", mtu, count] => bare::run(number(mtu) as usize, number(count), 0, false),
        ["written", mtu, count, size] => {
            bare::run(number(mtu) as usize, number(count), number(size) as usize, true);
        }
        ["udp", count, size] => pingpong::run(number(count), number(size) as usize),
        ["taut", channel, count, size, loss] => {
            let loss = loss.parse().expect("a share");
            ours::throughput(channel, number(count), number(size) as usize, loss);
        }
        #[cfg(feature = "aeron")]
        ["ping", there, back, stream, count, size] => {
            let (stream, size) = (number(stream) as i32, number(size) as usize);
            aeron::ping(there, back, stream, number(count), size);
        }
        #[cfg(feature = "aeron")]
        ["pace", channel, stream, count, size, rate] => {
            let (stream, size) = (number(stream) as i32, number(size) as usize);
            aeron::pace(channel, stream, number(count), size, number(rate));
        }
        #[cfg(feature = "aeron")]
        ["send", channel, stream, count] => {
            aeron::send(channel, number(stream) as i32, number(count))
        }
        #[cfg(feature = "aeron")]
        ["receive", channel, stream, count] => {
            aeron::receive(channel, number(stream) as i32, number(count));
        }
        #[cfg(feature = "aeron")]
        ["throughput", channel, stream, count, size] => {
            let size = number(size) as usize;
            aeron::throughput(channel, number(stream) as i32, number(count), size);
        }
        _ => {
            eprintln!("aeron-peer: see the head of src/main.rs");
            return ExitCode::from(2);
        }
    }
    ExitCode::SUCCESS
}
