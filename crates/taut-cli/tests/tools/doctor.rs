//! `taut doctor`: exit codes, JSON, the script.

use std::process::{Command, Output, Stdio};

use serde_json::Value;
use taut_testkit::{Process, Run, Turn, odd_json_keys};

fn doctor(words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_taut")).arg("doctor").args(words).run()
}

/// A gateway's file in a folder of its own.
fn gateway_file(change: impl Fn(&str) -> String) -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("gateway.toml");
    std::fs::write(&path, change(taut_runner::service::GATEWAY_SAMPLE)).expect("a file");
    let name = path.display().to_string();
    (folder, name)
}

#[test]
fn every_check_is_in_the_json_and_the_exit_code_is_that_of_what_is_wrong() {
    let (_folder, file) = gateway_file(|sample| sample.replace("# cpu = 1", "cpu = 0"));
    for (more, is_bad) in [
        (&[][..], (|it| it["important"] != 0 || it["critical"] != 0) as fn(&Value) -> bool),
        (&["--strict"], |it| it["important"] != 0 || it["critical"] != 0 || it["minor"] != 0),
    ] {
        let output = doctor(&[&["--json", "--for", &file], more].concat());
        let text = String::from_utf8(output.stdout).expect("text");
        assert_eq!(odd_json_keys(&text), [""; 0], "{text}");
        let json: Value = serde_json::from_str(&text).expect("JSON");
        let checks = json["checks"].as_array().expect("checks");
        assert!(checks.len() >= 45, "{}", checks.len());
        for key in ["cpus", "interfaces", "virtual_machine", "container", "ok", "wrong", "unseen"] {
            assert!(json.get(key).is_some(), "{key}: {json}");
        }
        assert_eq!(json["cpus"], "0");
        // Of whose gateways run meanwhile.
        let is_ill = |it: &Value| it["warnings"].as_array().is_some_and(|all| !all.is_empty());
        let gateways = json["gateways"].as_array().expect("gateways");
        let code = i32::from(is_bad(&json["wrong"]) || gateways.iter().any(is_ill));
        assert_eq!(output.status.code(), Some(code), "{more:?}: {}", json["wrong"]);
        // The sample's gateway sleeps, and trades over loopback.
        let named = |name: &str| checks.iter().find(|it| it["name"] == name).expect("a check");
        assert_eq!(named("gateway-pinned")["verdict"], "ok");
        assert_eq!(named("gateway-wait")["verdict"], "wrong");
        assert_eq!(named("nic-ring")["verdict"], "unseen");
        assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn a_busy_loop_on_the_cpus_is_named() {
    let _turn = Turn::take();
    let mut shell = Command::new("sh");
    let busy = Process::start(shell.args(["-c", "while :; do :; done"]));
    let cpus = taut_sys::available_cpus().expect("CPUs");
    let list: Vec<String> = cpus.iter().map(usize::to_string).collect();
    let output = doctor(&["--json", "--cpus", &list.join(",")]);
    let json: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let checks = json["checks"].as_array().expect("checks");
    let it = checks.iter().find(|it| it["name"] == "busy-neighbour").expect("the check");
    let found = it["found"].as_str().expect("text");
    assert_eq!(it["verdict"], "wrong", "{found}");
    // On a machine where five others have more it is one of the rest.
    let named = found.contains(&format!("sh (thread {})", busy.id()));
    assert!(named || found.contains(" more"), "{found}");
    assert_eq!(output.status.code(), Some(1));
}

/// As an isolated CPU, which no shell has in its affinity.
#[test]
fn a_cpu_outside_the_affinity_of_who_asks_is_allowed() {
    let cpus = taut_sys::available_cpus().expect("CPUs");
    let last = cpus[cpus.len() - 1];
    let (_folder, file) =
        gateway_file(|sample| sample.replace("# cpu = 1", &format!("cpu = {last}")));
    std::thread::scope(|scope| {
        // A program that is started has the affinity of the thread that starts it.
        scope.spawn(|| {
            taut_sys::pin_to_cpu(cpus[0]).expect("a CPU");
            let output = doctor(&["--json", "--for", &file]);
            let said = String::from_utf8_lossy(&output.stderr);
            let json: Value = serde_json::from_slice(&output.stdout).expect(&said);
            let checks = json["checks"].as_array().expect("checks");
            let it = checks.iter().find(|it| it["name"] == "cpus-allowed").expect("the check");
            assert_eq!((&json["cpus"], &it["verdict"]), (&last.to_string().into(), &"ok".into()));
        });
    });
}

#[test]
fn people_are_told_what_is_why_and_what_mends_it() {
    let output = doctor(&["--cpus", "0"]);
    let text = String::from_utf8(output.stdout).expect("text");
    for words in ["isolation\n", "network\n", "clock-source", "unseen", "checks of CPUs 0"] {
        assert!(text.contains(words), "{words} in {text}");
    }
    let is_wrong = text.contains("mended by: ");
    assert!(is_wrong || output.status.success(), "{text}");
}

#[test]
fn the_script_is_printed_and_passes_the_shell_s_check() {
    let output = doctor(&["--fix"]);
    assert_eq!(output.status.code(), Some(0));
    let script = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(script.path(), &output.stdout).expect("a file");
    assert!(output.stdout.starts_with(b"#!/bin/sh\n"));
    let mut shell = Command::new("sh");
    let checked = shell.arg("-n").arg(script.path()).stdin(Stdio::null()).run();
    assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stderr));
}

#[test]
fn wrong_use_ends_with_code_2_and_names_flag_and_value() {
    let (_folder, file) = gateway_file(|_| "name = 5".to_owned());
    for (words, told) in [
        (&["--cpus", "x"][..], "--cpus <LIST>"),
        (&["--cpus", ""], "--cpus <LIST>"),
        (&["--for", "nowhere.toml"], "nowhere.toml"),
        (&["--for", &file], "gateway.toml"),
        (&["--fix", "--json"], "--json"),
    ] {
        let output = doctor(words);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{words:?}: {said}");
        assert!(said.contains(told) && output.stdout.is_empty(), "{words:?}: {said}");
    }
}

#[test]
fn the_help_says_what_is_looked_at_and_what_the_exit_code_means() {
    let output = doctor(&["--help"]);
    let help = String::from_utf8(output.stdout).expect("text");
    for words in ["Nothing is changed", "Exit code 1", "--for", "--fix", "--strict", "--json"] {
        assert!(help.contains(words), "{words} in {help}");
    }
}
