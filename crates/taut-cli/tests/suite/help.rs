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
        "--json",
        "--levels",
        "--feed",
        "--port",
    ] {
        assert!(help.contains(flag), "{flag} in\n{help}");
    }
    for word in ["split", "fused", "spin", "yield", "block", "LOBSTER", "20000", "1000", "max"] {
        assert!(help.contains(word), "{word} in\n{help}");
    }
    assert!(said(&["help", "demo"]).contains("--json"));
}

#[test]
fn the_version_is_the_package_s() {
    assert_eq!(said(&["--version"]).trim_end(), concat!("taut ", env!("CARGO_PKG_VERSION")));
}

fn said(arguments: &[&str]) -> String {
    let mut command = Command::new(TAUT);
    command.args(arguments);
    let outcome = Demo::spawn(command).finish();
    outcome.expect_code(0);
    assert_eq!(outcome.stderr, "");
    outcome.expect_nothing_written();
    outcome.stdout
}
