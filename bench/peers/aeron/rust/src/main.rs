//! Peers of `aeron:udp?...`: Aeron's C media driver, and a bare stream of datagrams.
//!
//! `send|receive CHANNEL STREAM COUNT`: one side, as bench/peers/aeron/java/Peer.java, for interop.
//! `throughput CHANNEL STREAM COUNT SIZE`: both sides and one driver in this process; JSON.
//! `bare MTU COUNT`: datagrams full of 128-byte frames, by segmentation offload; JSON.

#[cfg(feature = "aeron")]
mod aeron;
mod bare;

use std::process::ExitCode;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let number = |text: &str| text.parse::<u64>().expect("a number");
    match words[..] {
        ["bare", mtu, count] => bare::run(number(mtu) as usize, number(count)),
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
