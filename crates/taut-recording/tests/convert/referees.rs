//! Readers that nobody here wrote, where they are installed: `TAUT_PYTHON` names the interpreter
//! that has them (`python3` by default).

use std::fmt::Write;
use std::fs::File;
use std::ops::ControlFlow;
use std::path::Path;
use std::process::Command;

use taut_recording::hft::{LOCAL, read_rows};
use taut_recording::pcapng::{PacketSource, write_packets};
use taut_recording::{Source, Target};

use crate::{conversion, made, run};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/convert/referees.py");
const UPDATES: i64 = 400;

/// What a reader says of a file, a line; nothing where the reader is not installed.
fn asked(reader: &str, file: &Path) -> Option<String> {
    let python = std::env::var("TAUT_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let output = Command::new(&python).args(["-W", "ignore", SCRIPT, reader]).arg(file).output();
    let Ok(output) = output else {
        println!("skipped: no {python}");
        return None;
    };
    let (out, told) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if output.status.code() == Some(77) {
        println!("skipped: {}", out.trim());
        return None;
    }
    assert!(output.status.success(), "{reader}: {out}{told}");
    println!("{reader}: {}", out.trim());
    Some(out.trim().to_owned())
}

#[test]
fn parquet_is_read_by_pyarrow_polars_and_duckdb() {
    let folder = tempfile::tempdir().expect("a folder");
    let npz = made::npz(folder.path(), UPDATES);
    let out = folder.path().join("a.parquet");
    run(&conversion(Source::Npz, &[&npz], Target::Parquet), &out).expect("columns");
    let rows = read_rows(&npz).expect("rows");
    let sum = |value: fn(f64) -> f64, of: fn(&taut_recording::hft::HftRow) -> f64| {
        rows.iter().map(|row| value(of(row)).round() as i128).sum::<i128>()
    };
    let (px, qty) = (sum(|px| px * 1e9, |row| row.px), sum(|qty| qty * 1e3, |row| row.qty));
    let kinds: u64 = rows.iter().map(|row| row.ev & 0xff).sum();
    let both = rows.iter().filter(|row| row.ev >> 30 == 3).count();
    let first = rows.iter().map(|row| row.exch_ts).min().unwrap_or(0);
    let last = rows.iter().map(|row| row.local_ts).max().unwrap_or(0);
    let expected = format!("{} {px} {qty} {kinds} {both} {first} {last}", rows.len());
    for reader in ["pyarrow", "polars", "duckdb"] {
        if let Some(found) = asked(reader, &out) {
            assert_eq!(found, expected, "{reader}");
        }
    }
}

#[test]
fn dbn_is_read_by_databento() {
    let folder = tempfile::tempdir().expect("a folder");
    let npz = made::npz(folder.path(), UPDATES);
    let out = folder.path().join("a.dbn");
    let mut what = conversion(Source::Npz, &[&npz], Target::Dbn);
    what.reading.symbol = Some("BTCUSDT".to_owned());
    let done = run(&what, &out).expect("records");
    let Some(found) = asked("databento", &out) else { return };
    let rows = read_rows(&npz).expect("rows");
    let local: Vec<_> = rows.iter().filter(|row| row.ev & LOCAL != 0).collect();
    let trades = local.iter().filter(|row| row.ev & 0xff == 2);
    let (count, size) = trades
        .fold((0, 0), |(count, size), row| (count + 1, size + (row.qty * 1e3).round() as i64));
    let last = local.last().map_or(0, |row| row.local_ts);
    assert_eq!(found, format!("{} {count} {size} {last} BTCUSDT", done.rows_written - 1));
}

#[test]
fn an_npz_file_is_right_and_runs_in_hftbacktest() {
    let folder = tempfile::tempdir().expect("a folder");
    let npz = made::npz(folder.path(), UPDATES);
    let rows = read_rows(&npz).expect("rows");
    if let Some(found) = asked("numpy", &npz) {
        let px: f64 = rows.iter().map(|row| (row.px * 100.0).round()).sum();
        let order: u128 = rows.iter().map(|row| u128::from(row.ev)).sum();
        assert_eq!(found, format!("{} {px:.0} {order}", rows.len()));
    }
    if let Some(found) = asked("hftbacktest", &npz) {
        // The best prices once everything was seen.
        assert_eq!(found, "valid 61800.00 61801.00", "{found}");
    }
}

/// What tshark shows of a file, a line a packet; nothing where it is not installed.
fn shown(file: &Path, fields: &[&str]) -> Option<String> {
    let fields = fields.iter().flat_map(|field| ["-e", field]);
    let mut tshark = Command::new("tshark");
    tshark.arg("-r").arg(file).args(["-o", "ip.check_checksum:TRUE", "-T", "fields"]).args(fields);
    let Ok(output) = tshark.output() else {
        println!("skipped: no tshark");
        return None;
    };
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{told}");
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Writes packets of a file into another one. How many there are.
fn packets(from: PacketSource, file: &Path, to: &Path) -> u64 {
    let mut out = File::create(to).expect("a file");
    let go_on = &mut |_| ControlFlow::Continue(());
    write_packets(from, &[file.to_path_buf()], &mut out, go_on).expect("packets").packets
}

#[test]
fn frames_are_read_by_tshark_to_the_nanosecond() {
    let folder = tempfile::tempdir().expect("a folder");
    let capture = made::capture(folder.path(), UPDATES);
    let path = folder.path().join("a.pcapng");
    let count = packets(PacketSource::Frames, &capture, &path);
    let fields = ["frame.time_epoch", "frame.len", "frame.interface_name"];
    let Some(found) = shown(&path, &fields) else { return };
    let mut expected = String::new();
    for line in std::fs::read_to_string(&capture).expect("text").lines() {
        let (time, frame) = line.split_once(' ').expect("a frame");
        let (seconds, nanos) = time.split_at(time.len() - 9);
        writeln!(expected, "{seconds}.{nanos}\t{}\tcapture.txt", frame.len()).expect("text");
    }
    assert_eq!(found, expected);
    assert_eq!(expected.lines().count() as u64, count);
}

/// A datagram of so many bytes, from its IP header on.
fn datagram(bytes: u16) -> Vec<u8> {
    let [ip_len, udp_len] = [28 + bytes, 8 + bytes].map(u16::to_be_bytes);
    let ip = [&[0x45, 0][..], &ip_len, &[0, 0, 0, 0, 9, 17, 0, 0, 10, 0, 0, 1, 239, 1, 1, 1]];
    let mut packet = ip.concat();
    let words = packet.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1]));
    let sum: u32 = words.sum();
    let sum = !((sum & 0xffff) + (sum >> 16)) as u16;
    packet[10..12].copy_from_slice(&sum.to_be_bytes());
    packet.extend([&[0x9c, 0x40, 0x75, 0x31][..], &udp_len, &[0, 0]].concat());
    packet.resize(28 + usize::from(bytes), 7);
    packet
}

#[test]
fn datagrams_of_a_pcap_file_are_read_by_tshark() {
    let folder = tempfile::tempdir().expect("a folder");
    let [pcap, path] = ["feed.pcap", "a.pcapng"].map(|name| folder.path().join(name));
    // Raw IP, times in microseconds.
    let mut file = 0xa1b2_c3d4_u32.to_le_bytes().to_vec();
    file.extend([2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 101, 0, 0, 0]);
    let mut expected = String::new();
    for at in 0..50_u16 {
        let packet = datagram(at * 3);
        let len = packet.len() as u32;
        for number in [1_700_000_000 + u32::from(at), 123_456, len, len] {
            file.extend(number.to_le_bytes());
        }
        file.extend(packet);
        let (seconds, bytes) = (1_700_000_000 + u32::from(at), at * 3 + 8);
        writeln!(expected, "{seconds}.123456000\t239.1.1.1\t30001\t{bytes}\t1\tfeed.pcap")
            .expect("text");
    }
    std::fs::write(&pcap, file).expect("a file");
    assert_eq!(packets(PacketSource::Pcap, &pcap, &path), 50);
    let fields = ["frame.time_epoch", "ip.dst", "udp.dstport", "udp.length"];
    let fields = [&fields[..], &["ip.checksum.status", "frame.interface_name"]].concat();
    let Some(found) = shown(&path, &fields) else { return };
    assert_eq!(found, expected);
}
