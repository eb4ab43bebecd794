//! Generated decoders against the decoder that reads the schema at run time, on random messages
//! and on mutations of them.

mod support;

use std::path::{Path, PathBuf};
use std::process::Command;

use support::random::{self, Random};
use taut_sbe_gen::{Options, Schema};

const PROGRAM: &str = include_str!("programs/messages.rs");

/// Random messages of a schema, one of each kind for each round, as bytes.
fn messages(schema: &Schema, rounds: usize, random: &mut Random) -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    for _ in 0..rounds {
        for shape in &schema.messages {
            let message = random::message(schema, shape, random);
            let bytes = schema.encode(&message).unwrap_or_else(|error| panic!("{error}"));
            let (again, rest) = schema.decode(&bytes).unwrap_or_else(|error| panic!("{error}"));
            assert!(rest.is_empty(), "{message}");
            assert_eq!(schema.encode(&again).as_ref(), Ok(&bytes), "{again}");
            all.push(bytes);
        }
    }
    all
}

fn write_messages(messages: &[Vec<u8>], folder: &Path) -> PathBuf {
    let mut file = Vec::new();
    for message in messages {
        file.extend(u32::try_from(message.len()).expect("a message is short").to_le_bytes());
        file.extend(message);
    }
    let path = folder.join("messages.bin");
    std::fs::write(&path, file).expect("file");
    path
}

fn run(program: &Path, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output().expect("it runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {} {said}", output.status);
    String::from_utf8(output.stdout).expect("it prints text")
}

/// Compares on `rounds` messages of each kind and `mutations` of each, then decodes `count` more.
fn compare(path: &Path, rounds: usize, mutations: usize, count: u64) {
    let schema = Schema::read(path).unwrap_or_else(|error| panic!("{error}"));
    let folder = tempfile::tempdir().expect("folder");
    let program = support::program(&schema, &Options::default(), PROGRAM, folder.path());
    let mut random = Random::with_seed(1);
    let seeds = messages(&schema, rounds, &mut random);
    let mut all = seeds.clone();
    for seed in &seeds {
        for _ in 0..mutations {
            let mut bytes = seed.clone();
            random::mutate(&mut bytes, &mut random);
            all.push(bytes);
        }
    }
    let file = write_messages(&all, folder.path());
    let printed = run(&program, &["json", support::text(&file)]);
    assert_eq!(printed.lines().count(), all.len());
    let mut decoded = 0;
    for (line, bytes) in printed.lines().zip(&all) {
        match schema.decode(bytes) {
            Ok((mut message, _)) => {
                message.block_length = None;
                assert_eq!(line, message.to_string(), "{bytes:02x?}");
                decoded += 1;
            }
            Err(error) => assert!(!line.starts_with('{'), "{error}: {line} {bytes:02x?}"),
        }
    }
    println!("{}: {decoded} of {} messages alike", path.display(), all.len());
    let file = write_messages(&seeds, folder.path());
    let line =
        run(&program, &["fuzz", support::text(&file), &count.to_string(), "88172645463325252"]);
    print!("{}: {line}", path.display());
}

#[test]
fn decoders_with_a_copy_of_the_runtime_say_the_same() {
    for name in ["odd.xml", "later.xml"] {
        let schema = Schema::read(&support::own(name)).unwrap_or_else(|error| panic!("{error}"));
        let mut random = Random::with_seed(1);
        let mut all = messages(&schema, 20, &mut random);
        for at in 0..all.len() * 50 {
            let mut bytes = all[at % all.len()].clone();
            random::mutate(&mut bytes, &mut random);
            all.push(bytes);
        }
        let printed = support::both_runtimes().map(|options| {
            let folder = tempfile::tempdir().expect("folder");
            let program = support::program(&schema, &options, PROGRAM, folder.path());
            run(&program, &["json", support::text(&write_messages(&all, folder.path()))])
        });
        assert_eq!(printed[0].lines().count(), all.len());
        assert!(printed[0] == printed[1], "{name}: the runtimes differ");
    }
}

#[test]
fn generated_decoders_agree_with_the_schema_on_random_and_mutated_messages() {
    for name in ["odd.xml", "big.xml", "numbers.xml"] {
        compare(&support::own(name), 20, 50, 20_000);
    }
    for name in ["sbe/example-extension-schema.xml", "schemas/stream_1_0.xml"] {
        if let Some(path) = support::shared(name) {
            compare(&path, 20, 50, 20_000);
        }
    }
}

/// rustc 1.95 with `-O` made wrong code of them as long as they were split in line.
#[test]
fn a_message_with_sixteen_groups_is_decoded_alike() {
    compare(&support::own("sizes.xml"), 20, 50, 20_000);
}

/// `cargo test -p taut-sbe-gen --release --test differential -- --ignored --nocapture`
#[test]
#[ignore = "minutes: every schema, 10 million mutated messages"]
fn ten_million_mutated_messages_panic_nowhere() {
    let all = support::all();
    let each = 10_000_000_u64.div_ceil(all.len() as u64);
    for path in all {
        compare(&path, 10, 50, each);
    }
}
