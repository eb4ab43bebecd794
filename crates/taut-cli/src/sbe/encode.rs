//! `taut sbe encode`.

use std::io::{self, Write};

use taut_sbe_gen::Schema;

use super::arguments::{Encode, Framing};
use super::framing::{Packet, Sofh};
use super::{input, json};
use crate::exit::Failure;
use crate::input::read;
use taut_report::files::WholeFile;

pub(super) fn run(arguments: &Encode) -> Result<(), Failure> {
    if arguments.framing == Framing::UdpPcap {
        return Err(Failure::Usage("messages cannot be encoded into a pcap file".to_owned()));
    }
    let schema = input::schema(&arguments.schema)?;
    let name = arguments.file.display();
    let text = String::from_utf8(read(&arguments.file)?)
        .map_err(|_| Failure::Usage(format!("{name} is not UTF-8 text")))?;
    let bytes = encode(&schema, arguments.framing, &text)
        .map_err(|problem| Failure::Run(format!("{name}: {problem}")))?;
    match &arguments.out {
        Some(path) => {
            let written = WholeFile::create(path).and_then(|mut file| {
                file.write_all(&bytes)?;
                file.finish()
            });
            written.map_err(|error| {
                Failure::run(&format!("{} cannot be written", path.display()), error)
            })
        }
        None => {
            io::stdout().write_all(&bytes).map_err(|error| Failure::run("standard output", error))
        }
    }
}

/// The bytes of lines of JSON; the error names the line.
pub(super) fn encode(schema: &Schema, framing: Framing, text: &str) -> Result<Vec<u8>, String> {
    let mut out = Vec::new();
    let mut first: Option<Packet> = None;
    for (number, line) in (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty()) {
        let in_line = |problem: &dyn std::fmt::Display| format!("line {number}: {problem}");
        let (message, packet) = json::message(schema, line).map_err(|error| in_line(&error))?;
        let bytes = schema.encode(&message).map_err(|error| in_line(&error))?;
        match framing {
            Framing::Raw | Framing::UdpPcap => out.extend(bytes),
            Framing::Sofh => {
                let framed = Sofh::of(schema).join(&bytes);
                out.extend(framed.ok_or_else(|| in_line(&"it is too long for its frame"))?);
            }
            Framing::Mdp3 => {
                if *first.get_or_insert(packet) != packet {
                    return Err(in_line(&"it belongs to another packet: one file, one datagram"));
                }
                if out.is_empty() {
                    out = packet.bytes();
                }
                let size = u16::try_from(bytes.len() + 2)
                    .map_err(|_| in_line(&"it is too long for its size"))?;
                out.extend(size.to_le_bytes());
                out.extend(bytes);
            }
        }
    }
    Ok(out)
}
