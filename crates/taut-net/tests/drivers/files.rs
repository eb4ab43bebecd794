//! Files, pipes, Unix sockets, frames.

use taut_io::{Admission, Completion, IoError, Kernel};
use taut_net::{FileRead, FileReader, Frames, LengthPrefix, NetError, Target, UnixListener};
use taut_sys::{Address, Socket, StreamOptions};
use taut_types::Nanos;

use crate::rig::{events, pair, until};

pub fn a_plain_file_is_read_chunk_by_chunk_between_other_work<K: Kernel>(kernel: K) {
    let text: Vec<u8> = (0..100_000u32).map(|n| ((n * 7) >> 3) as u8).collect();
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), &text).unwrap();
    let mut events = events(kernel);
    let mut reader = FileReader::open(events.io(), file.path(), 1000).unwrap();
    let mut other = FileReader::open(events.io(), file.path(), 30_000).unwrap();
    let now = events.io().now();
    events.io().timer_every(now, Nanos(1000), 7).unwrap();
    let (mut read, mut read_too, mut ended, mut between) = (Vec::new(), 0, 0, 0);
    until(&mut events, "both ends", |io, completion| {
        match reader.handle(io, completion) {
            FileRead::Bytes(bytes) => read.extend_from_slice(bytes),
            FileRead::Ended => ended += 1,
            FileRead::Failed(error) => panic!("{error}"),
            FileRead::NotMine => match other.handle(io, completion) {
                FileRead::Bytes(bytes) => read_too += bytes.len(),
                FileRead::Ended => ended += 1,
                FileRead::Failed(error) => panic!("{error}"),
                FileRead::NotMine => between += 1,
            },
        }
        ended == 2
    });
    assert_eq!((read.len(), read_too), (text.len(), text.len()));
    assert!(read == text && between > 10, "{between} timers between");
    let missing = FileReader::open(events.io(), std::path::Path::new("/no/such/file"), 1);
    let not_there =
        |error: &NetError| matches!(error, NetError::Io(IoError::System(e)) if e.errno() == 2);
    assert!(missing.is_err_and(|error| not_there(&error)));
}

pub fn a_pipe_carries_bytes_and_ends<K: Kernel>(kernel: K) {
    let (read, write) = Socket::pipe().unwrap();
    let mut events = events(kernel);
    let read = events.io().adopt(read).unwrap();
    let write = events.io().adopt(write).unwrap();
    events.io().receive(read).unwrap();
    let text = vec![7; 50_000];
    events.io().write(write, &text, Some(1)).unwrap();
    let mut got = 0;
    until(&mut events, "the end", |io, completion| {
        match completion {
            Completion::Received { stream, bytes } if *stream == read => got += bytes.len(),
            Completion::Written { stream, .. } => io.close(*stream).unwrap(),
            Completion::Ended { stream } => return *stream == read,
            _ => {}
        }
        false
    });
    assert_eq!(got, text.len());
    // A plain file is no source: it is always ready, and epoll says so.
    let file = tempfile::tempfile().unwrap();
    let adopted = events.io().adopt(Socket::adopt(file.into()).unwrap());
    if let Ok(handle) = adopted {
        events.io().close(handle).unwrap();
    }
}

pub fn a_unix_listener_replaces_what_the_dead_left_and_respects_the_living<K: Kernel>(kernel: K) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("order.sock");
    let name = path.to_str().unwrap();
    // What a process that died leaves: a file, and nobody behind it.
    drop(Socket::listen(&Address::unix(name).unwrap(), &StreamOptions::default()).unwrap());
    assert!(path.exists());
    let mut events = events(kernel);
    let listener = UnixListener::listen(events.io(), name, &Admission::OPEN).expect("taken over");
    match UnixListener::listen(events.io(), name, &Admission::OPEN) {
        Err(NetError::Io(IoError::System(error))) => assert!(error.is_address_in_use()),
        other => panic!("{other:?}"),
    }
    let Target::Address(to) = Target::parse(&format!("unix:{name}")).unwrap() else {
        panic!("a path is an address");
    };
    let near = events.io().connect(&to, &StreamOptions::default(), None).unwrap();
    let mut stands = false;
    until(&mut events, "bytes through the path", |io, completion| {
        match completion {
            Completion::Accepted { stream, listener: by, .. } => {
                assert_eq!(*by, listener.handle());
                io.receive(*stream).unwrap();
            }
            Completion::Connected { stream } => {
                stands = true;
                io.write(*stream, b"tick", None).unwrap();
            }
            Completion::Received { bytes, .. } => return *bytes == b"tick",
            _ => {}
        }
        false
    });
    assert!(stands && events.io().unsent_bytes(near) == Ok(0));
    drop(listener);
    assert!(!path.exists());
    // What is there and is no socket stays.
    std::fs::write(&path, b"a file of the user's").unwrap();
    assert!(UnixListener::listen(events.io(), name, &Admission::OPEN).is_err() && path.exists());
}

pub fn frames_are_cut_from_a_stream_by_the_loop<K: Kernel>(kernel: K) {
    let mut events = events(kernel);
    let (near, far) = pair(&mut events);
    let framing = LengthPrefix { wide: true, big_endian: true, includes_itself: false };
    let mut frames = Frames::new(framing, 8192).unwrap();
    let frame = |n: usize| -> Vec<u8> {
        let body = vec![n as u8; n * 97 % 5000];
        [&(body.len() as u32).to_be_bytes(), &body[..]].concat()
    };
    let (mut sent, mut seen) = (0, 0);
    let stream: Vec<u8> = (0..300).flat_map(frame).collect();
    until(&mut events, "all frames", |io, completion| {
        if sent < stream.len() && io.unsent_bytes(near) == Ok(0) {
            // In pieces that fit no frame.
            let piece = &stream[sent..stream.len().min(sent + 3001)];
            sent += piece.len();
            io.write(near, piece, Some(0)).unwrap();
        }
        if let Completion::Received { stream, bytes } = completion
            && *stream == far
        {
            let check = |got: &[u8]| {
                assert_eq!(got, frame(seen));
                seen += 1;
            };
            frames.push(bytes, check).unwrap();
        }
        seen == 300
    });
}
