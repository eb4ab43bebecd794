//! What a gateway hears is written down, and it does again what it did.

use super::*;

/// What nobody is to read in a recording.
const PASSWORD: &str = "correct-horse-battery-staple";

/// A gateway of this world's file, which is recorded in the folder of this name.
fn start(world: &World, recording: &str) -> Process {
    let file = world.path("gateway.toml");
    let mut command = taut();
    command.args(["gateway", "--config"]).arg(&file).arg("--record").arg(world.path(recording));
    let mut gateway = Process::start(command.env("TAUT_TEST_PASSWORD", PASSWORD));
    gateway.stderr_line("a gateway that can be found", |line| {
        line.contains("meet it at").then_some(())
    });
    gateway
}

/// The recordings of a gateway, each start's, in the order of their names.
fn recordings(folder: &Path) -> Vec<PathBuf> {
    let all = std::fs::read_dir(folder).expect("a folder").flatten().map(|it| it.path());
    let mut all: Vec<PathBuf> = all.filter(|it| it.is_dir()).collect();
    all.sort();
    all
}

/// What `replay` says of a recording, whose gateway does the same again.
fn expect_the_same(folder: &Path) -> Value {
    let path = folder.to_str().expect("a path");
    let replayed = run(&["replay", path, "--verify", "--json"]);
    let said = text(&replayed.stdout) + &text(&replayed.stderr);
    assert!(replayed.status.success(), "{said}");
    assert_eq!(odd_json_keys(text(&replayed.stdout).trim_end()), [""; 0]);
    let result: Value = serde_json::from_slice(&replayed.stdout).expect("JSON");
    assert!(result["difference"].is_null() && result["gateway"] == "own", "{said}");
    for file in std::fs::read_dir(folder).expect("a folder") {
        let bytes = std::fs::read(file.expect("a file").path()).expect("a file");
        let is_there = bytes.windows(PASSWORD.len()).any(|it| it == PASSWORD.as_bytes());
        assert!(!is_there, "the password is in the recording");
    }
    result
}

#[test]
fn a_gateway_is_done_again_with_its_operator_and_strategies_that_come_and_go() {
    let world = World::new();
    let _venue = world.start_venue();
    world.write_settings(
        "dead_man_ms = 5000\n[journal]\nfolder = \"journal\"\nsegment_mb = 1\n\
         [session.credentials]\nusername = \"me\"\npassword = { env = \"TAUT_TEST_PASSWORD\" }\n",
    );
    let mut gateway = start(&world, "first");
    until("a session and sound books", DEADLINE, || {
        let status = world.status();
        status["order_entry"] == true && status["books_sound"] == true
    });
    // Strategies attach in the middle and leave; the operator acts.
    let first = world.start_strategy("first");
    world.until_orders("orders of one", 20);
    let second = world.start_strategy("second");
    world.until_orders("orders of both", 40);
    interrupt(&first);
    assert!(first.finish().status.success());
    world.ask(&["cancel-all", "--strategy", "second"]);
    world.ask(&["kill"]);
    until("no open order", DEADLINE, || world.status()["open_orders"] == 0);
    world.ask(&["revive"]);
    world.until_orders("orders after the revival", 10);
    let orders = world.count("orders");
    gateway.kill();
    let killed = expect_the_same(&world.path("first"));
    assert_eq!(killed["mode"], "split");
    assert!(killed["orders"].as_u64().is_some_and(|count| count >= orders), "{killed}");

    // The next one begins with what the order journal recovered, and takes other limits.
    let gateway = start(&world, "second");
    world.until_orders("orders of the strategy that came back", 10);
    let file = std::fs::read_to_string(world.path("gateway.toml")).expect("a file");
    let limits = "[risk]\nlots_max = 7\n";
    std::fs::write(world.path("gateway.toml"), file + limits).expect("a file");
    let reloaded = run(&["gateway", "reload", "--gateway", &world.control()]);
    assert!(reloaded.status.success(), "{}", text(&reloaded.stderr));
    world.until_orders("orders within other limits", 10);
    world.ask(&["stop"]);
    assert!(gateway.finish().status.success());
    drop(second);
    let ended = expect_the_same(&world.path("second"));
    assert_eq!(ended["unfinished"], false, "{ended}");
    // Other limits say what they would have refused.
    let (recording, limits) = (world.path("second"), world.path("limits.toml"));
    std::fs::write(&limits, "[[users]]\nname = \"nobody\"\nid = 9\n").expect("a file");
    let [recording, limits] = [&recording, &limits].map(|it| it.to_str().expect("a path"));
    let judged = run(&["replay", recording, "--limits", limits]);
    let said = text(&judged.stdout) + &text(&judged.stderr);
    assert!(judged.status.success() && said.contains("would have been refused"), "{said}");
    assert!(said.contains("the first of them:"), "{said}");
}

#[test]
fn orders_stand_in_the_recording_and_are_taken_up_from_there() {
    let world = World::new();
    let _venue = world.start_venue();
    let credentials =
        "[session.credentials]\nusername = \"me\"\npassword = { env = \"TAUT_TEST_PASSWORD\" }\n";
    let journal = format!("[journal]\nfolder = \"journal\"\nsegment_mb = 1\n{credentials}");
    let record = "[record]\nfolder = \"journal\"\nsegment_mb = 1\n";
    let home = world.path("journal");
    let start = || {
        let mut command = taut();
        command.args(["gateway", "--config"]).arg(world.path("gateway.toml"));
        let mut gateway = Process::start(command.env("TAUT_TEST_PASSWORD", PASSWORD));
        gateway.stderr_line("a gateway that can be found", |line| {
            line.contains("meet it at").then_some(())
        });
        gateway
    };
    let shown = || {
        let shown = run(&["journal", "show", home.to_str().expect("a path"), "--json"]);
        assert!(shown.status.success(), "{}", text(&shown.stderr));
        let shown: Value = serde_json::from_slice(&shown.stdout).expect("JSON");
        (shown["highest"].clone(), shown["as_of"].as_u64().expect("a number"))
    };
    world.write_settings(&format!("{journal}{record}"));
    let mut strategy = None;
    // Killed, and then ended.
    for nth in 1..=2 {
        let mut gateway = start();
        // It waits for a gateway that is gone.
        strategy.get_or_insert_with(|| world.start_strategy("first"));
        world.until_orders("orders", 20);
        if nth == 1 {
            gateway.kill();
        } else {
            world.ask(&["stop"]);
            assert!(gateway.finish().status.success());
        }
        let all = recordings(&home);
        assert_eq!(all.len(), nth, "a folder for each start: {all:?}");
        let again = expect_the_same(all.last().expect("one"));
        assert!(again["orders"].as_u64().is_some_and(|orders| orders >= 20), "{again}");
        assert!(again["order_entries"].as_u64().is_some_and(|it| it >= 40), "{again}");
        assert_eq!(again["unfinished"], nth == 1, "{again}");
    }
    let (highest, as_of) = shown();
    assert!(!home.join("0000000001.journal").exists(), "they are written down once");
    let checked = run(&["record", "check", recordings(&home)[1].to_str().expect("a path")]);
    assert!(checked.status.success(), "{}", text(&checked.stderr));
    // Without a recording they stand in the journal itself, from where they were.
    world.write_settings(&journal);
    let mut gateway = start();
    world.until_orders("orders without a recording", 20);
    gateway.kill();
    let (later, later_as_of) = shown();
    assert!(home.join("0000000001.journal").exists() && later_as_of > as_of);
    let [highest, later] = [highest, later].map(|it| it.to_string());
    assert!(later > highest, "{highest} {later}");
    drop(strategy);
}

#[test]
fn copies_that_another_thread_reads_are_heard_again() {
    let world = World::new();
    let copies = own_address();
    let venue = format!(
        "drop_copy = {{ listen = \"{copies}\", readers = {{ RISK = \"GATEWAY\" }}, \
         store = {:?} }}\n",
        world.path("members")
    );
    let _venue = world.start_venue_with(&venue);
    world.write_settings(&format!(
        "[drop_copy_reader]\naddress = \"{copies}\"\nsender_comp_id = \"RISK\"\n\
         store = \"venue-copies\"\nafter_ms = 50\n"
    ));
    let gateway = start(&world, "run");
    let _strategy = world.start_strategy("first");
    until("copies that are read", DEADLINE, || world.count("drop_copies_read") > 50);
    world.ask(&["stop"]);
    assert!(gateway.finish().status.success());
    // What it had come to says how many there were.
    expect_the_same(&world.path("run"));
}

/// A file system of some megabytes, gone when this is.
struct SmallDisk(PathBuf);

impl SmallDisk {
    /// Nothing where it cannot be mounted.
    fn new(folder: PathBuf) -> Option<Self> {
        std::fs::create_dir(&folder).expect("a folder");
        let mount = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=2300k", "none"])
            .arg(&folder)
            .output();
        mount.is_ok_and(|output| output.status.success()).then_some(Self(folder))
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).output();
    }
}

/// A gateway that records on a disk with room for two segments, with a strategy; where.
fn on_a_small_disk(when_full: &str) -> Option<(World, SmallDisk, [Process; 3], PathBuf)> {
    let world = World::new();
    let Some(disk) = SmallDisk::new(world.path("disk")) else {
        println!("skipped: no file system can be mounted here");
        return None;
    };
    let venue = world.start_venue();
    let folder = disk.0.join("recordings");
    let more =
        format!("[record]\nfolder = {folder:?}\nsegment_mb = 1\nwhen_full = \"{when_full}\"\n");
    world.write_settings(&more);
    let gateway = world.start_written(&[]);
    let strategy = world.start_strategy("first");
    let recording = recordings(&folder).pop().expect("a recording");
    Some((world, disk, [venue, gateway, strategy], recording))
}

#[test]
fn a_full_disk_ends_the_gateway_in_order() {
    let Some((_world, _disk, processes, recording)) = on_a_small_disk("stop") else { return };
    let [_venue, gateway, _strategy] = processes;
    let ended = gateway.finish();
    let said = text(&ended.stderr);
    assert!(ended.status.success() && said.contains("logged out; the recording ends"), "{said}");
    let replayed = run(&["replay", recording.to_str().expect("a path")]);
    let said = text(&replayed.stdout) + &text(&replayed.stderr);
    assert!(replayed.status.success() && said.contains("; 0 differences"), "{said}");
}

#[test]
fn on_a_full_disk_entries_are_dropped_and_the_gap_is_said() {
    let Some((world, _disk, processes, recording)) = on_a_small_disk("drop") else { return };
    let [_venue, gateway, _strategy] = processes;
    let segment = |number: u32| recording.join(format!("{number:010}.journal"));
    until("a second segment that is nearly full", DEADLINE, || {
        let bytes = std::fs::read(segment(2)).unwrap_or_default();
        bytes.iter().rev().take(1 << 16).any(|byte| *byte != 0)
    });
    world.until_orders("orders without a recording", 100);
    // There is room again: the first segment goes elsewhere.
    let whole = world.path("whole");
    std::fs::create_dir(&whole).expect("a folder");
    std::fs::copy(segment(1), whole.join("0000000001.journal")).expect("a copy");
    std::fs::remove_file(segment(1)).expect("it goes");
    until("a third segment", DEADLINE, || segment(3).exists());
    world.until_orders("orders that are recorded again", 20);
    world.ask(&["stop"]);
    let ended = gateway.finish();
    let said = text(&ended.stderr);
    assert!(ended.status.success() && said.contains("entries are not in the recording"), "{said}");
    for file in std::fs::read_dir(&recording).expect("a folder") {
        let file = file.expect("a file").path();
        std::fs::copy(&file, whole.join(file.file_name().expect("a name"))).expect("a copy");
    }
    let whole = whole.to_str().expect("a path");
    let info = run(&["record", "info", whole, "--json"]);
    let info: Value = serde_json::from_slice(&info.stdout).expect("JSON");
    assert!(info["dropped"].as_u64().is_some_and(|dropped| dropped > 0), "{info}");
    let checked = run(&["record", "check", whole]);
    assert_eq!(checked.status.code(), Some(1), "{}", text(&checked.stdout));
    let replayed = run(&["replay", whole]);
    let said = text(&replayed.stdout) + &text(&replayed.stderr);
    assert!(replayed.status.success() && said.contains("what comes next was dropped"), "{said}");
}

#[test]
fn a_strategy_in_the_gateways_thread_decides_again() {
    let world = World::new();
    let _venue = world.start_venue();
    let more = "[record]\nfolder = \"recordings\"\nsegment_mb = 1\n";
    world.write_settings(more);
    std::fs::write(world.path("first.toml"), "name = \"first\"\n[parameters]\nrate = 200\n")
        .expect("a file");
    let strategy = world.path("first.toml");
    let strategy = strategy.to_str().expect("a path");
    let gateway = world.start_written(&["--fused", "touch", "--strategy", strategy]);
    world.until_orders("its orders", 40);
    world.ask(&["stop"]);
    assert!(gateway.finish().status.success());
    // Each start has a folder of its own.
    let recording = recordings(&world.path("recordings")).pop().expect("one");
    let path = recording.to_str().expect("a path");
    let same = run(&["replay", path, "--strategy", strategy]);
    let said = text(&same.stdout) + &text(&same.stderr);
    assert!(same.status.success() && said.contains("; 0 differences"), "{said}");
    // With other parameters it is another strategy.
    let other = run(&["replay", path]);
    assert_eq!(other.status.code(), Some(1), "{}", text(&other.stdout));
    assert!(text(&other.stderr).contains("the replay differs"), "{}", text(&other.stderr));
}

#[test]
fn market_data_are_recorded_alone_beside_the_gateway_that_trades() {
    let world = World::new();
    let _venue = world.start_venue();
    world.write_settings("");
    let file = world.path("gateway.toml");
    let [file, out, rows] = [file, world.path("feed"), world.path("rows.csv")]
        .map(|it| it.to_str().expect("a path").to_owned());
    let feed = ["record", "feed", &file, "--out", &out, "--seconds", "1", "--json"];
    let recorded = run(&feed);
    let said = text(&recorded.stdout) + &text(&recorded.stderr);
    assert!(recorded.status.success(), "{said}");
    assert_eq!(odd_json_keys(text(&recorded.stdout).trim_end()), [""; 0]);
    let held: Value = serde_json::from_slice(&recorded.stdout).expect("JSON");
    assert!(held["turns"].as_u64() > Some(50) && held["unfinished"] == false, "{held}");
    let market = run(&["record", "market", &out, "--out", &rows]);
    assert!(market.status.success(), "{}", text(&market.stderr));
    let rows = std::fs::read_to_string(&rows).expect("rows");
    assert!(rows.contains(",level,") || rows.contains(",snapshot,"), "{rows}");
    let same = run(&["replay", &out]);
    assert!(text(&same.stdout).contains("; 0 differences"), "{}", text(&same.stderr));
    let again = run(&feed);
    assert_eq!(again.status.code(), Some(2), "{}", text(&again.stderr));
    assert!(text(&again.stderr).contains("not empty"), "{}", text(&again.stderr));
}

#[test]
fn what_cannot_be_recorded_is_refused() {
    let world = World::new();
    for (more, words) in [
        ("[record]\nfolder = \"x\"\nsegment_mb = 0\n", "record.segment_mb = 0"),
        ("[record]\nfolder = \"x\"\nwhen_full = \"wait\"\n", "when_full"),
    ] {
        world.write_settings(more);
        let file = world.path("gateway.toml");
        let checked = run(&["gateway", "check", file.to_str().expect("a path")]);
        assert_eq!(checked.status.code(), Some(2), "{more}: {}", text(&checked.stdout));
        assert!(text(&checked.stderr).contains(words), "{more}: {}", text(&checked.stderr));
    }
}
