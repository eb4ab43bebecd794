//! Our messages through the reference's generated Java: it decodes them into objects and encodes
//! those again, which must give the same bytes. So both directions are compared, for every message
//! of a schema.

mod support;

use std::path::{Path, PathBuf};
use std::process::Command;

use support::random::{self, Random};
use taut_sbe_gen::{Schema, Value};

const ARTIFACT: &str = "uk.co.real-logic:sbe-all:1.38.1";
const JAR: &str = ".m2/repository/uk/co/real-logic/sbe-all/1.38.1/sbe-all-1.38.1.jar";

/// The reference generator, fetched by Maven when it is not there; nothing, with a notice, where
/// there is no Java.
fn reference() -> Option<PathBuf> {
    let has = |tool| Command::new(tool).arg("-version").output().is_ok();
    if !has("java") || !has("javac") {
        println!("skipped: there is no Java");
        return None;
    }
    let jar = Path::new(&std::env::var_os("HOME")?).join(JAR);
    if !jar.exists() {
        let artifact = format!("-Dartifact={ARTIFACT}");
        let _ = Command::new("mvn").args(["-q", "dependency:get", &artifact]).output();
    }
    if !jar.exists() {
        println!("skipped: Maven does not give {ARTIFACT}");
        return None;
    }
    Some(jar)
}

#[track_caller]
fn run(command: &mut Command) -> String {
    let output = command.output().expect("it runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    text
}

/// The header's extra values are zero: the reference's objects do not carry them.
fn zero(value: &mut Value) {
    match value {
        Value::Record(items) => items.iter_mut().for_each(|(_, item)| zero(item)),
        other => *other = Value::Int(0),
    }
}

fn compare(jar: &Path, path: &Path, rounds: usize) {
    let schema = Schema::read(path).unwrap_or_else(|error| panic!("{error}"));
    let folder = tempfile::tempdir().expect("folder");
    let folder = folder.path();
    let mut random = Random::with_seed(2);
    let mut file = Vec::new();
    let mut count = 0;
    for _ in 0..rounds {
        for shape in &schema.messages {
            let mut message = random::message(&schema, shape, &mut random);
            message.header.iter_mut().for_each(|(_, value)| zero(value));
            let bytes = schema.encode(&message).unwrap_or_else(|error| panic!("{error}"));
            for part in [shape.name.as_bytes(), &bytes] {
                file.extend(u32::try_from(part.len()).expect("short").to_le_bytes());
                file.extend(part);
            }
            count += 1;
        }
    }
    let messages = folder.join("messages.bin");
    std::fs::write(&messages, file).expect("file");
    let generated = folder.join("java");
    run(Command::new("java")
        .arg(format!("-Dsbe.output.dir={}", generated.display()))
        .args(["-Dsbe.target.language=Java", "-Dsbe.java.generate.dtos=true"])
        .args(["-Dsbe.xinclude.aware=true", "-jar"])
        .arg(jar)
        .arg(path));
    let package = generated.join(schema.package.replace('.', "/"));
    let sources = std::fs::read_dir(&package)
        .expect("generated")
        .map(|entry| entry.expect("an entry").path());
    let classes = folder.join("classes");
    run(Command::new("javac")
        .args(["-nowarn", "-cp"])
        .arg(jar)
        .arg("-d")
        .arg(&classes)
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/Reference.java"))
        .args(sources));
    let said = run(Command::new("java")
        .args(["--add-opens", "java.base/jdk.internal.misc=ALL-UNNAMED", "-cp"])
        .arg(format!("{}:{}", jar.display(), classes.display()))
        .args(["Reference", &schema.package, &schema.header.size.to_string()])
        .arg(&messages));
    println!("{}: {}", path.display(), said.lines().last().unwrap_or_default());
    let differences: Vec<_> = said.lines().take(12).collect();
    assert_eq!(said, format!("{count} messages stay the same\n"), "{differences:#?}");
}

#[test]
fn the_reference_reads_our_messages_and_writes_the_same_bytes() {
    let Some(jar) = reference() else { return };
    for name in
        ["schemas/stream_1_0.xml", "sbe/example-extension-schema.xml", "schemas/cme-mdp3-v9.xml"]
    {
        if let Some(path) = support::shared(name) {
            compare(&jar, &path, 100);
        }
    }
}

/// `cargo test -p taut-sbe-gen --test interop -- --ignored --nocapture`
#[test]
#[ignore = "a minute: the reference's code for every schema is compiled"]
fn the_reference_reads_and_writes_the_same_bytes_for_every_schema() {
    let Some(jar) = reference() else { return };
    let outside = support::SCHEMAS.iter().filter_map(|name| support::shared(name));
    for path in outside.chain([support::feed()]) {
        compare(&jar, &path, 100);
    }
}
