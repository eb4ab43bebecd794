//! What the command says about itself.

use std::process::Command;

use crate::support::{Demo, TAUT};

#[test]
fn help_names_the_demo_and_every_flag_of_it() {
    let general = said(&["--help"]);
    assert!(general.contains("demo") && !general.contains("role"), "{general}");
    let help = said(&["demo", "--help"]);
    for flag in [
        "--mode",
        "--venue",
        "--orders",
        "--tls",
        "--flow",
        "--seed",
        "--data",
        "--speed",
        "--wait",
        "--cpus",
        "--seconds",
        "--ticks",
        "--rate",
        "--out",
        "--overwrite",
        "--json",
        "--levels",
        "--feed",
        "--port",
        "--outliers-above",
        "--perfetto",
    ] {
        assert!(help.contains(flag), "{flag} in\n{help}");
    }
    for word in
        ["split", "fused", "spin", "yield", "block", "LOBSTER", "deribit", "20000", "1000", "max"]
    {
        assert!(help.contains(word), "{word} in\n{help}");
    }
    assert!(said(&["help", "demo"]).contains("--json"));
}

/// What plays a demo's other processes is no command that anybody is led to.
#[test]
fn a_word_that_is_almost_a_command_is_led_to_that_one_alone() {
    let mut command = Command::new(TAUT);
    command.arg("dmo");
    let outcome = Demo::answer(command);
    outcome.expect_code(2);
    assert!(outcome.stderr.contains("'demo'"), "{}", outcome.stderr);
    assert!(!outcome.stderr.contains("role"), "{}", outcome.stderr);
}

#[test]
fn the_version_is_the_package_s() {
    assert_eq!(said(&["--version"]).trim_end(), concat!("taut ", env!("CARGO_PKG_VERSION")));
}

fn said(arguments: &[&str]) -> String {
    let mut command = Command::new(TAUT);
    command.args(arguments);
    let outcome = Demo::answer(command);
    outcome.expect_code(0);
    assert_eq!(outcome.stderr, "");
    outcome.expect_nothing_written();
    outcome.stdout
}
