//! `taut sbe decode`.

use std::io::{self, BufWriter, ErrorKind, Write};

use taut_recording::pcap;
use taut_sbe_gen::{Schema, Value};

use super::arguments::{Decode, Framing};
use super::framing::{Broken, Frame, Sofh, split_mdp3};
use super::input;
use crate::exit::Failure;
use crate::input::read;
use crate::terminal::tell;

pub(super) fn run(arguments: &Decode) -> Result<(), Failure> {
    let schema = input::schema(&arguments.schema)?;
    let bytes = read(&arguments.file)?;
    let mut out = Decoder {
        schema: &schema,
        out: BufWriter::new(io::stdout().lock()),
        name: arguments.file.display().to_string(),
        place: String::new(),
        failed: 0,
    };
    match out.file(arguments.framing, &bytes).and_then(|()| out.out.flush()) {
        // Who reads our output has seen enough.
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        Err(error) => Err(Failure::run("standard output", error)),
        Ok(()) if out.failed > 0 => Err(Failure::Told),
        Ok(()) => Ok(()),
    }
}

/// Prints messages as lines of JSON, and on standard error what is no message.
pub(super) struct Decoder<'s, W> {
    pub(super) schema: &'s Schema,
    pub(super) out: W,
    pub(super) name: String,
    /// Where in the file, in front of what is said of it.
    pub(super) place: String,
    pub(super) failed: usize,
}

impl<W: Write> Decoder<'_, W> {
    pub(super) fn file(&mut self, framing: Framing, bytes: &[u8]) -> io::Result<()> {
        if framing != Framing::UdpPcap {
            return self.payload(framing, bytes, &[]);
        }
        let capture = match pcap::read(bytes) {
            Ok(capture) => capture,
            Err(problem) => {
                self.complain(&problem);
                return Ok(());
            }
        };
        if capture.skipped > 0 {
            let (name, skipped) = (&self.name, capture.skipped);
            tell(format_args!("{name}: {skipped} packets are no whole UDP datagrams"));
        }
        for datagram in capture.datagrams {
            self.place = match datagram.missing {
                0 => format!("packet {}: ", datagram.packet),
                missing => {
                    format!(
                        "packet {}, captured without its end of {missing} bytes: ",
                        datagram.packet
                    )
                }
            };
            let packet = [
                ("time_ns".to_owned(), Value::Int(datagram.time_ns.into())),
                ("source".to_owned(), Value::Text(datagram.source.to_string())),
                ("destination".to_owned(), Value::Text(datagram.destination.to_string())),
            ];
            self.payload(guess(self.schema, datagram.payload), datagram.payload, &packet)?;
        }
        self.place.clear();
        if let Some(packet) = capture.cut_in {
            self.complain(&format!("it ends within packet {packet}"));
        }
        Ok(())
    }

    fn payload(
        &mut self,
        framing: Framing,
        bytes: &[u8],
        packet: &[(String, Value)],
    ) -> io::Result<()> {
        match framing {
            Framing::Raw | Framing::UdpPcap => self.raw(bytes, packet),
            Framing::Sofh => match Sofh::of(self.schema).split(bytes) {
                Ok(frames) => self.frames(frames, packet),
                Err(broken) => self.broken(&broken),
            },
            Framing::Mdp3 => match split_mdp3(bytes) {
                Ok((header, frames)) => self.frames(frames, &[packet, &header.values()].concat()),
                Err(broken) => self.broken(&broken),
            },
        }
    }

    fn raw(&mut self, bytes: &[u8], packet: &[(String, Value)]) -> io::Result<()> {
        let mut rest = bytes;
        while !rest.is_empty() {
            match self.schema.decode(rest) {
                Ok((message, behind)) => {
                    self.line(&message.to_string(), packet)?;
                    rest = behind;
                }
                Err(error) => {
                    // Without a frame nobody knows where the next message starts.
                    self.complain(&format!("byte {}: {error}", bytes.len() - rest.len()));
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    fn frames(&mut self, frames: Vec<Frame<'_>>, packet: &[(String, Value)]) -> io::Result<()> {
        for frame in frames {
            match self.schema.decode(frame.bytes) {
                Ok((message, _)) => self.line(&message.to_string(), packet)?,
                Err(error) => self.complain(&format!("byte {}: {error}", frame.offset)),
            }
        }
        Ok(())
    }

    fn line(&mut self, message: &str, packet: &[(String, Value)]) -> io::Result<()> {
        match (packet, message.strip_suffix('}')) {
            ([_, ..], Some(open)) => {
                writeln!(self.out, "{open},\"packet\":{}}}", Value::Record(packet.to_vec()))
            }
            _ => writeln!(self.out, "{message}"),
        }
    }

    fn broken(&mut self, broken: &Broken) -> io::Result<()> {
        self.complain(&format!("byte {}: {}", broken.offset, broken.problem));
        Ok(())
    }

    fn complain(&mut self, problem: &str) {
        tell(format_args!("{}: {}{problem}", self.name, self.place));
        self.failed += 1;
    }
}

/// The framing of a datagram: the first whose sizes add up.
fn guess(schema: &Schema, payload: &[u8]) -> Framing {
    if Sofh::of(schema).split(payload).is_ok() {
        Framing::Sofh
    } else if split_mdp3(payload).is_ok_and(|(_, frames)| !frames.is_empty()) {
        Framing::Mdp3
    } else {
        Framing::Raw
    }
}
