//! pcapng, written (draft-ietf-opsawg-pcapng): packets of pcap files, or frames of captures, for
//! Wireshark and its like.
//!
//! A file is a section header, an interface for each input, and a block for each packet, with its
//! time in nanoseconds and its number.

use std::io::{self, BufReader, Read, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use crate::FileError;
use crate::capture::{is_about_connection, split};
use crate::convert::{ConvertError, Step};
use crate::pcap::{HEAD, Head, RECORD};
use crate::rows::Reading;
use crate::text::{Counted, TextFile};

const SECTION: u32 = 0x0a0d_0d0a;
const INTERFACE: u32 = 1;
const PACKET: u32 = 6;
/// Options: the program, an interface's name, the resolution of its times, a packet's number.
const USER_APPLICATION: u16 = 4;
const NAME: u16 = 2;
const RESOLUTION: u16 = 9;
const PACKET_ID: u16 = 5;
/// Frames that have no header of any network: LINKTYPE_USER0.
const USER0: u16 = 147;
/// No packet of a network is longer, and no frame of a venue.
const PACKET_BYTES_MAX: u32 = 1 << 26;
/// Packets between two looks at whether to go on.
const PACKETS_A_LOOK: u64 = 1 << 10;

/// What packets are read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketSource {
    /// pcap files, whose packets stay as they are.
    Pcap,
    /// Captures of frames: a line each, the receive time before it.
    Frames,
}

/// What was written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Packets {
    /// Packets, of all files.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Files that end within a packet, as captures do that were stopped: that packet is left out.
    pub cut: Vec<PathBuf>,
}

/// Writes the packets of files, each as an interface of its own. `watch` hears how far it is, and
/// may end it.
///
/// # Errors
/// [`ConvertError`]: the first thing that was wrong.
pub fn write_packets(
    from: PacketSource,
    files: &[PathBuf],
    out: &mut dyn Write,
    watch: &mut dyn FnMut(Step) -> ControlFlow<()>,
) -> Result<Packets, ConvertError> {
    let reading = Reading::new();
    let mut writer = PacketFile::begin(out).map_err(ConvertError::Io)?;
    let mut done = Packets::default();
    for (interface, path) in (0..).zip(files) {
        let mut source = Input::open(from, path, &reading)?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        writer.interface(source.link(), &name).map_err(ConvertError::Io)?;
        let mut bytes = Vec::new();
        while let Some(Packet { time_ns, sent }) = source.next(&mut bytes)? {
            done.packets += 1;
            done.bytes += bytes.len() as u64;
            let written = writer.packet(interface, time_ns, sent, &bytes, done.packets);
            written.map_err(ConvertError::Io)?;
            if done.packets.is_multiple_of(PACKETS_A_LOOK) {
                let (rows, bytes) = (done.packets, reading.bytes());
                if watch(Step { is_writing: true, rows, bytes }).is_break() {
                    return Err(ConvertError::Stopped);
                }
            }
        }
        if source.is_cut() {
            done.cut.push(path.clone());
        }
    }
    writer.flush().map_err(ConvertError::Io)?;
    Ok(done)
}

/// A packet, but for its bytes.
struct Packet {
    time_ns: u64,
    /// Bytes that were sent.
    sent: u32,
}

enum Input {
    Pcap { name: String, file: BufReader<Counted>, head: Head, number: u64, is_cut: bool },
    Frames(TextFile),
}

impl Input {
    fn open(from: PacketSource, path: &Path, reading: &Rc<Reading>) -> Result<Self, FileError> {
        if from == PacketSource::Frames {
            return TextFile::open(path, reading).map(Self::Frames);
        }
        let name = path.display().to_string();
        let mut file = BufReader::with_capacity(1 << 16, Counted::open(path, reading)?);
        let mut head = [0; HEAD];
        file.read_exact(&mut head).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => FileError::whole(&name, "it is shorter than a header"),
            _ => FileError::unreadable(path, &error),
        })?;
        let head = Head::parse(&head).map_err(|what| FileError::whole(&name, what))?;
        Ok(Self::Pcap { name, file, head, number: 0, is_cut: false })
    }

    fn link(&self) -> u16 {
        match self {
            Self::Pcap { head, .. } => u16::try_from(head.link).unwrap_or(USER0),
            Self::Frames(_) => USER0,
        }
    }

    const fn is_cut(&self) -> bool {
        matches!(self, Self::Pcap { is_cut: true, .. })
    }

    /// The next packet, its bytes in `to`.
    fn next(&mut self, to: &mut Vec<u8>) -> Result<Option<Packet>, FileError> {
        to.clear();
        match self {
            Self::Pcap { name, file, head, number, is_cut } => {
                *number += 1;
                let wrong =
                    |what: String| FileError::whole(name, format!("packet {number}: {what}"));
                let unread = |error: io::Error| wrong(format!("it cannot be read ({error})"));
                let mut record = Vec::with_capacity(RECORD);
                file.by_ref().take(RECORD as u64).read_to_end(&mut record).map_err(unread)?;
                let Some(record) = record.first_chunk::<RECORD>() else {
                    *is_cut = !record.is_empty();
                    return Ok(None);
                };
                let record = head.record(record);
                if record.captured > PACKET_BYTES_MAX {
                    let what = format!(
                        "it says that it has {} bytes; the file is damaged here",
                        record.captured
                    );
                    return Err(wrong(what));
                }
                let captured = u64::from(record.captured);
                let read = file.by_ref().take(captured).read_to_end(to).map_err(unread)?;
                if (read as u64) < captured {
                    *is_cut = true;
                    return Ok(None);
                }
                Ok(Some(Packet { time_ns: record.time_ns, sent: record.sent }))
            }
            Self::Frames(file) => {
                while file.advance()? {
                    let line = file.line();
                    if line.is_empty() || is_about_connection(line) {
                        continue;
                    }
                    let (received, frame) = split(line).map_err(|what| file.wrong(what))?;
                    to.extend_from_slice(frame);
                    let sent = u32::try_from(frame.len()).unwrap_or(u32::MAX);
                    return Ok(Some(Packet { time_ns: received.0.unsigned_abs(), sent }));
                }
                Ok(None)
            }
        }
    }
}

/// A file that is written block by block.
#[derive(Debug)]
pub struct PacketFile<W> {
    out: W,
    block: Vec<u8>,
}

impl<W: Write> PacketFile<W> {
    /// Begins a section: a file has one.
    ///
    /// # Errors
    /// What writing says.
    pub fn begin(out: W) -> io::Result<Self> {
        let mut writer = Self { out, block: Vec::new() };
        // The byte order, the version 1.0, and a length that is not known.
        writer.put(&0x1a2b_3c4d_u32.to_le_bytes());
        writer.put(&[1, 0, 0, 0]);
        writer.put(&u64::MAX.to_le_bytes());
        writer.option(USER_APPLICATION, concat!("taut ", env!("CARGO_PKG_VERSION")).as_bytes());
        writer.end(SECTION).map(|()| writer)
    }

    /// Adds an interface of this link type (LINKTYPE_*), with a name; the first one is 0.
    ///
    /// # Errors
    /// What writing says.
    pub fn interface(&mut self, link: u16, name: &str) -> io::Result<()> {
        self.put(&link.to_le_bytes());
        self.put(&[0; 6]);
        self.option(NAME, name.as_bytes());
        self.option(RESOLUTION, &[9]);
        self.end(INTERFACE)
    }

    /// Adds a packet of an interface: its time in ns since 1970, how long it was when it was sent,
    /// what there is of it, and its number.
    ///
    /// # Errors
    /// What writing says.
    pub fn packet(
        &mut self,
        interface: u32,
        time_ns: u64,
        sent: u32,
        bytes: &[u8],
        id: u64,
    ) -> io::Result<()> {
        let captured = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        let [low, high] = [time_ns as u32, (time_ns >> 32) as u32];
        for number in [interface, high, low, captured, sent.max(captured)] {
            self.put(&number.to_le_bytes());
        }
        self.put(bytes);
        self.pad();
        self.option(PACKET_ID, &id.to_le_bytes());
        self.end(PACKET)
    }

    /// Has all of it written.
    ///
    /// # Errors
    /// What writing says.
    pub fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    fn put(&mut self, bytes: &[u8]) {
        self.block.extend_from_slice(bytes);
    }

    /// Bytes up to a multiple of four.
    fn pad(&mut self) {
        self.block.resize(self.block.len().next_multiple_of(4), 0);
    }

    fn option(&mut self, code: u16, value: &[u8]) {
        let len = u16::try_from(value.len()).unwrap_or(0);
        self.put(&code.to_le_bytes());
        self.put(&len.to_le_bytes());
        self.put(value.get(..len.into()).unwrap_or_default());
        self.pad();
    }

    /// Writes the block, whose length stands at both of its ends.
    fn end(&mut self, kind: u32) -> io::Result<()> {
        // The end of the options.
        self.put(&[0; 4]);
        let len = u32::try_from(self.block.len() + 12).unwrap_or(u32::MAX).to_le_bytes();
        for part in [&kind.to_le_bytes()[..], &len, &self.block, &len] {
            self.out.write_all(part)?;
        }
        self.block.clear();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The blocks of a file: their kinds and bodies.
    fn blocks(mut file: &[u8]) -> Vec<(u32, Vec<u8>)> {
        let number = |bytes: &[u8]| u32::from_le_bytes(bytes.try_into().expect("four bytes"));
        let mut blocks = Vec::new();
        while !file.is_empty() {
            let (kind, len) = (number(&file[..4]), number(&file[4..8]) as usize);
            assert_eq!((len % 4, number(&file[len - 4..len]) as usize), (0, len));
            blocks.push((kind, file[8..len - 4].to_vec()));
            file = &file[len..];
        }
        blocks
    }

    fn written(from: PacketSource, bytes: &[u8]) -> Result<(Packets, Vec<u8>), String> {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("x");
        std::fs::write(&path, bytes).expect("a file");
        let mut out = Vec::new();
        match write_packets(from, &[path], &mut out, &mut |_| ControlFlow::Continue(())) {
            Ok(done) => Ok((done, out)),
            Err(ConvertError::File(error)) => Err(error.to_string()),
            Err(other) => panic!("{other:?}"),
        }
    }

    fn pcap() -> Vec<u8> {
        let mut file = 0xa1b2_3c4d_u32.to_le_bytes().to_vec();
        file.extend([2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 1, 0, 0, 0]);
        for (seconds, nanos, sent, bytes) in [(1, 7, 5, &b"abcde"[..]), (2, 999_999_999, 9, b"fgh")]
        {
            for number in [seconds, nanos, bytes.len() as u32, sent] {
                file.extend(u32::to_le_bytes(number));
            }
            file.extend(bytes);
        }
        file
    }

    #[test]
    fn packets_of_a_pcap_file_keep_their_bytes_and_their_nanoseconds() {
        let (done, out) = written(PacketSource::Pcap, &pcap()).expect("packets");
        assert_eq!((done.packets, done.bytes, done.cut.len()), (2, 8, 0));
        let blocks = blocks(&out);
        let kinds: Vec<_> = blocks.iter().map(|(kind, _)| *kind).collect();
        assert_eq!(kinds, [SECTION, INTERFACE, PACKET, PACKET]);
        assert_eq!(blocks[1].1[..2], [1, 0]);
        let (high, low) = (&blocks[3].1[4..8], &blocks[3].1[8..12]);
        let time = [low, high].concat();
        assert_eq!(u64::from_le_bytes(time.try_into().expect("a time")), 2_999_999_999);
        assert_eq!(blocks[3].1[12..20], [3, 0, 0, 0, 9, 0, 0, 0]);
        assert_eq!(&blocks[3].1[20..24], b"fgh\0");
        assert_eq!(blocks[3].1[24..36], [5, 0, 8, 0, 2, 0, 0, 0, 0, 0, 0, 0]);
    }

    #[test]
    fn a_file_that_breaks_off_is_told_and_a_damaged_one_is_refused() {
        let file = pcap();
        for len in HEAD..file.len() {
            let (done, _) = written(PacketSource::Pcap, &file[..len]).expect("packets");
            let whole = [HEAD, HEAD + RECORD + 5].contains(&len);
            assert_eq!(done.cut.len(), usize::from(!whole), "{len}");
        }
        let told = written(PacketSource::Pcap, &file[..9]).expect_err("no header");
        assert!(told.ends_with("x: it is shorter than a header"), "{told}");
        let mut damaged = file.clone();
        damaged[HEAD + 11] = 0xff;
        let told = written(PacketSource::Pcap, &damaged).expect_err("damaged");
        assert!(told.contains("x: packet 1: it says that it has"), "{told}");
    }

    #[test]
    fn frames_of_a_capture_are_packets_of_no_network() {
        let (done, out) = written(PacketSource::Frames, b"17 {\"a\":1}\n18 []\n").expect("packets");
        assert_eq!((done.packets, done.bytes), (2, 9));
        assert_eq!(blocks(&out)[1].1[..2], USER0.to_le_bytes());
        let told = written(PacketSource::Frames, b"17 {}\nx\n").expect_err("no frame");
        assert!(told.contains("x:2: expected a receive time"), "{told}");
    }
}
