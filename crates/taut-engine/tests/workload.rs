//! Order flows with known answers, made by `bookgen`, whose own matcher says what must come out.

#[path = "../examples/workload/records.rs"]
mod records;

use std::path::{Path, PathBuf};
use std::process::Command as Process;

use records::{Workload, run};
use taut_engine::{Engine, EngineConfig};
use taut_types::Side;

/// A debug build takes a sample.
const OPERATION_COUNT: u32 = if cfg!(debug_assertions) { 100_000 } else { 1_000_000 };
const SEED: u32 = 42;

/// Compiles the generator; nothing when its source or the compiler is missing.
fn generator(name: &str) -> Option<PathBuf> {
    let shared = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/workloads/book/bookgen.rs");
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let program = directory.join(format!("bookgen-{name}-{}", std::process::id()));
    let compiler = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let built = Path::new(shared).exists()
        && Process::new(compiler)
            .args(["-O", "--cap-lints", "allow", "--crate-name", "bookgen", shared, "-o"])
            .arg(&program)
            .status()
            .is_ok_and(|status| status.success());
    if !built {
        eprintln!("skipped: {shared} or a Rust compiler is missing");
    }
    built.then_some(program)
}

/// The value of a field in the generator's one line of JSON.
fn field<'a>(json: &'a str, name: &str) -> &'a str {
    let (_, rest) = json.split_once(&format!("\"{name}\":")).expect("a field");
    rest.split([',', '}']).next().expect("a value").trim_matches('"')
}

fn check(kind: &str, known_hash: &str) {
    let Some(generator) = generator(kind) else { return };
    let path = generator.with_extension("bin");
    let output = Process::new(&generator)
        .args([kind, &OPERATION_COUNT.to_string(), &SEED.to_string()])
        .arg(&path)
        .output()
        .expect("the generator runs");
    let expected = String::from_utf8(output.stdout).expect("text");
    let workload = Workload::parse(&std::fs::read(&path).expect("the flow")).expect("a flow");
    for file in [generator, path] {
        std::fs::remove_file(file).expect("what was made can be removed");
    }

    assert_eq!(workload.messages.len() - workload.prefill, OPERATION_COUNT as usize);
    let mut engine = Engine::new(EngineConfig { order_capacity: 65_536, level_capacity: 4_096 });
    let (trade_count, hash) = run(&mut engine, &workload.messages);
    let hash = format!("{hash:016x}");
    println!("{kind}: {OPERATION_COUNT} operations, {trade_count} trades, trade hash {hash}");
    assert_eq!(hash, field(&expected, "trade_hash"));
    if OPERATION_COUNT == 1_000_000 {
        assert_eq!(hash, known_hash);
    }
    assert_eq!(trade_count.to_string(), field(&expected, "trades"));
    assert_eq!(engine.book().order_count().to_string(), field(&expected, "final_live"));
    let levels = Side::BOTH.map(|side| engine.book().level_count(side));
    let expected_levels = expected.split_once("\"final_levels\":[").expect("a field").1;
    assert!(expected_levels.starts_with(&format!("{},{}]", levels[0], levels[1])));
}

#[test]
fn a_mix_of_adds_cancels_and_sweeps_trades_as_the_reference_does() {
    check("mix", "f8d2df3014e7f21c");
}

#[test]
fn a_deep_book_in_which_nothing_crosses_trades_nothing() {
    check("deep", "cbf29ce484222325");
}

#[test]
fn cancels_of_orders_that_are_no_more_change_nothing() {
    check("churn", "396676bd4fab8e69");
}
