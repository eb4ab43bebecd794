//! What it takes to run the programs of `taut` on a machine: units, messages and their codes,
//! completions, manual pages, keys explained.

use std::collections::BTreeSet;
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use taut_testkit::{DEADLINE, Process, odd_json_keys, until};

use crate::gateway::{World, run, signal, taut, text};

/// What a command that succeeds prints.
#[track_caller]
fn printed(arguments: &[&str]) -> String {
    let output = run(arguments);
    assert!(output.status.success(), "{arguments:?}: {}", text(&output.stderr));
    text(&output.stdout)
}

/// The verbs below these words, out of their help.
fn verbs(words: &[&str], found: &mut Vec<String>) {
    let help = printed(&[words, &["--help"]].concat());
    let lines = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let below = lines.take_while(|line| line.starts_with("  "));
    let names = below.filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    for name in names.filter(|name| !name.is_empty() && *name != "help") {
        let words = [words, &[name]].concat();
        found.push(words.join(" "));
        verbs(&words, found);
    }
}

/// Whether a program is there.
fn has(program: &str) -> bool {
    let found = Command::new("sh").args(["-c", &format!("command -v {program}")]).output();
    let is_there = found.is_ok_and(|output| output.status.success());
    if !is_there {
        println!("skipped: no {program} here");
    }
    is_there
}

#[test]
fn every_verb_is_completed_and_has_a_manual_page() {
    let mut all = Vec::new();
    verbs(&[], &mut all);
    assert!(all.len() > 60, "{}", all.len());
    let folder = tempfile::tempdir().expect("a folder");

    let [bash, zsh, fish] = ["bash", "zsh", "fish"].map(|shell| printed(&["completions", shell]));
    for verb in &all {
        let (last, first) = (verb.rsplit(' ').next(), verb.split(' ').next());
        let (last, first) = (last.expect("a word"), first.expect("a word"));
        let path = verb.replace('-', "__").replace(' ', "__subcmd__");
        let is_bash = bash.contains(&format!("taut__subcmd__{path})")) || bash.contains(last);
        assert!(is_bash, "bash: {verb}");
        assert!(zsh.contains(&format!("'{last}:")), "zsh: {verb}");
        assert!(fish.contains(first) && fish.contains(&format!("-a \"{last}\"")), "fish: {verb}");
    }
    assert!(bash.contains("--durability") || bash.contains("--cancel") || bash.contains("--log"));
    for (shell, script) in [("bash", &bash), ("zsh", &zsh), ("fish", &fish)] {
        let path = folder.path().join(format!("taut.{shell}"));
        std::fs::write(&path, script).expect("a file");
        if has(shell) {
            let checked = Command::new(shell).arg("-n").arg(&path).output().expect("it runs");
            assert!(checked.status.success(), "{shell}: {}", text(&checked.stderr));
        }
    }

    let pages = folder.path().join("man1");
    let pages = pages.to_str().expect("a path");
    printed(&["man", "--to", pages]);
    let written: BTreeSet<String> = std::fs::read_dir(pages)
        .expect("a folder")
        .map(|entry| entry.expect("an entry").file_name().into_string().expect("a name"))
        .collect();
    let mut wanted: BTreeSet<String> =
        all.iter().map(|verb| format!("taut-{}.1", verb.replace(' ', "-"))).collect();
    wanted.insert("taut.1".to_owned());
    assert_eq!(written, wanted);
    let page = printed(&["man", "gateway", "reload"]);
    let file = std::fs::read_to_string(Path::new(pages).join("taut-gateway-reload.1"));
    assert_eq!(page.trim_end(), file.expect("a page").trim_end());
    // Nothing is written over another file.
    let again = run(&["man", "--to", pages]);
    assert_eq!(again.status.code(), Some(2), "{}", text(&again.stderr));
    assert!(text(&again.stderr).contains("replace it with -f"), "{}", text(&again.stderr));
    printed(&["man", "--to", pages, "-f"]);
    let unknown = run(&["man", "gateway", "nowhere"]);
    assert_eq!(unknown.status.code(), Some(2), "{}", text(&unknown.stderr));
    if has("mandoc") {
        let page = Path::new(pages).join("taut-gateway.1");
        let mut lint = Command::new("mandoc");
        let checked = lint.args(["-T", "lint", "-W", "error"]).arg(&page).output();
        let checked = checked.expect("it runs");
        assert!(checked.status.success(), "{}", text(&checked.stdout));
    }
    if has("groff") {
        let all = Path::new(pages).join("taut-gateway.1");
        let shown = Command::new("groff").args(["-man", "-Tutf8", "-ww"]).arg(&all).output();
        let shown = shown.expect("it runs");
        assert!(text(&shown.stdout).contains("taut-gateway"), "{}", text(&shown.stderr));
    }
}

#[test]
fn a_code_and_a_check_are_explained() {
    let told = printed(&["explain", "gw-0101"]);
    assert!(told.contains("GW-0101") && told.contains("orders can be sent"), "{told}");
    assert!(printed(&["explain", "cpu-quota"]).contains("`taut doctor`"));
    let all = printed(&["explain"]);
    assert!(all.contains("LG-0001") && all.contains("busy-neighbour"), "{all}");
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/codes.md");
    let page = std::fs::read_to_string(page).expect("the page");
    let is_print = printed(&["explain", "--markdown"]).trim_end() == page.trim_end();
    assert!(is_print, "docs/codes.md: write it anew with `taut explain --markdown`");
    for arguments in [&["explain", "--json"][..], &["explain", "GW-0203", "--json"]] {
        let json = printed(arguments);
        assert_eq!(odd_json_keys(&json), [""; 0], "{json}");
        let _: Value = serde_json::from_str(&json).expect("JSON");
    }
    let unknown = run(&["explain", "GW-9999"]);
    assert_eq!(unknown.status.code(), Some(2));
    assert!(text(&unknown.stderr).contains("`taut explain` lists"), "{}", text(&unknown.stderr));
}

#[test]
fn a_key_is_explained() {
    let told = printed(&["config", "explain", "gateway", "risk.collar_ppm"]);
    assert!(told.contains("risk.collar_ppm = 50000"), "{told}");
    assert!(told.contains("parts per million"), "{told}");
    let table = printed(&["config", "explain", "gateway", "session"]);
    assert!(table.contains("session.reconnect_ms") && !table.contains("risk."), "{table}");
    for kind in ["gateway", "venue", "deribit-venue", "binance-venue", "strategy"] {
        let json = printed(&["config", "explain", kind, "--json"]);
        assert_eq!(odd_json_keys(&json), [""; 0], "{json}");
        let json: Value = serde_json::from_str(&json).expect("JSON");
        assert!(json["keys"].as_array().is_some_and(|keys| keys.len() > 3), "{kind}");
    }
    let unknown = run(&["config", "explain", "gateway", "collar_ppm"]);
    assert_eq!(unknown.status.code(), Some(2));
    let told = text(&unknown.stderr);
    assert!(told.contains("did you mean `risk.collar_ppm`?"), "{told}");
}

#[test]
fn a_unit_is_printed_or_written_and_systemd_reads_it() {
    let world = World::new();
    world.write_settings("[journal]\nfolder = \"/var/lib/taut/own\"\n");
    let file = world.path("gateway.toml");
    let file = file.to_str().expect("a path");
    let unit = printed(&["install", "--systemd", file]);
    for line in [
        "Type=notify",
        "WatchdogSec=10",
        "Restart=on-failure",
        "ProtectSystem=strict",
        "NoNewPrivileges=yes",
        "LimitMEMLOCK=infinity",
        "StateDirectory=taut/gateway-own taut/own",
        "User=taut",
    ] {
        assert!(unit.lines().any(|it| it == line), "{line}\n{unit}");
    }
    let folder = tempfile::tempdir().expect("a folder");
    let to = folder.path().to_str().expect("a path");
    let arguments = ["install", "--systemd", file, "--user", "root", "--fifo", "20", "--to", to];
    let written = printed(&arguments);
    let path = folder.path().join("taut-gateway-own.service");
    assert_eq!(written.trim_end(), path.display().to_string());
    let again = run(&arguments);
    assert_eq!(again.status.code(), Some(2), "{}", text(&again.stderr));
    printed(&[&arguments[..], &["-f"]].concat());
    if has("systemd-analyze") {
        let mut verify = Command::new("systemd-analyze");
        let verified = verify.args(["verify", "--man=no"]).arg(&path).output().expect("it runs");
        let told = text(&verified.stderr);
        let ours = told.lines().filter(|line| line.contains("taut-gateway-own.service"));
        assert_eq!(ours.collect::<Vec<_>>(), [""; 0], "{told}");
    }
    let missing = run(&["install", "--systemd", "/nowhere/gateway.toml"]);
    assert_eq!(missing.status.code(), Some(2), "{}", text(&missing.stderr));

    let venue = world.path("venue.toml");
    std::fs::write(&venue, taut_runner::service::VENUE_SAMPLE).expect("a file");
    let venue = venue.to_str().expect("a path");
    let unit = printed(&["install", "--systemd", venue, "--venue", "taut", "--watchdog", "0"]);
    assert!(unit.contains(" venue --config ") && !unit.contains("WatchdogSec"), "{unit}");
}

/// Its service manager is told what happens, and its messages have their codes.
#[test]
fn a_gateway_tells_its_service_manager_how_it_is() {
    let world = World::new();
    let venue = world.start_venue();
    let socket = world.path("notify");
    let systemd = UnixDatagram::bind(&socket).expect("a socket");
    systemd.set_nonblocking(true).expect("a socket");
    world.write_settings("");
    let file = world.path("gateway.toml");
    let mut command = taut();
    command.args(["gateway", "--log", "json", "--config"]).arg(&file);
    command.env("NOTIFY_SOCKET", &socket).env("WATCHDOG_USEC", "100000");
    let mut gateway = Process::start(&mut command);
    let mut told: Vec<String> = Vec::new();
    let mut is_told = |what: &str| {
        let mut buffer = [0; 512];
        while let Ok(length) = systemd.recv(&mut buffer) {
            told.push(text(&buffer[..length]));
        }
        let at = told.iter().position(|it| it.contains(what));
        at.inspect(|at| _ = told.drain(..=*at)).is_some()
    };
    for what in ["READY=1", "WATCHDOG=1", "STATUS=orders up, books sound", "WATCHDOG=1"] {
        until(what, DEADLINE, || is_told(what));
    }
    signal(&gateway, "-HUP");
    until("a reload", DEADLINE, || is_told("RELOADING=1\nMONOTONIC_USEC="));
    until("its end", DEADLINE, || is_told("READY=1"));
    world.ask(&["kill"]);
    drop(venue);
    gateway
        .stderr_line("that orders cannot be sent", |line| line.contains("GW-0102").then_some(()));
    signal(&gateway, "-TERM");
    until("that it stops", DEADLINE, || is_told("STOPPING=1"));
    let ended = gateway.finish();
    assert!(ended.status.success(), "{}", text(&ended.stderr));
    let codes: BTreeSet<String> = text(&ended.stderr)
        .lines()
        .map(|line| {
            let line: Value = serde_json::from_str(line).expect("JSON");
            line["code"].as_str().expect("a code").to_owned()
        })
        .collect();
    for code in ["GW-0001", "GW-0004", "GW-0101", "GW-0102", "GW-0202", "GW-0401", "GW-0701"] {
        assert!(codes.contains(code), "{code}: {codes:?}");
    }
}
