//! What mends a machine: it helps, it does no harm, and the next diagnosis sees that it did.

use taut_doctor::Verdict;
use taut_sys::{NicSettings, SysError};

use crate::fake::{Fake, nic};

const LOSSES: &str = "/sys/class/net/eth0/statistics";

/// What mends this check, as the script has it: a command, or a comment.
fn fix_of(fake: &Fake, name: &str) -> (String, bool) {
    let fix = fake.fix_of(name);
    let is_command = fake.diagnose().script().lines().any(|line| line == fix);
    (fix, is_command)
}

#[test]
fn what_was_counted_before_the_first_look_is_told_and_is_not_wrong() {
    let mut fake = Fake::good();
    fake.set(&format!("{LOSSES}/rx_missed_errors"), "8");
    fake.set("/sys/fs/cgroup/trading/cpu.stat", "nr_periods 9\nnr_throttled 7");
    for (name, found) in [
        ("nic-losses", "eth0: rx_missed_errors 0 just now, 8 since the boot"),
        ("cpu-throttled", "no group of this process or taut's was stopped just now"),
    ] {
        assert_eq!(fake.judge(name), (Verdict::Ok, found.to_owned()));
    }
}

#[test]
fn a_ring_is_made_larger_where_that_helps_and_the_hardware_has_room() {
    for (ring, counter, fix, is_command) in [
        (Ok((256, 512)), "rx_fifo_errors", "ethtool -G eth0 rx 512", true),
        (Ok((512, 512)), "rx_missed_errors", "eth0: its ring can be no larger", false),
        (Ok((4_096, 8_192)), "rx_missed_errors", "eth0: its ring can be no larger", false),
        (Ok((256, 4_096)), "rx_errors", "eth0: look at the cable", false),
    ] {
        let mut fake = Fake::good();
        let nic = NicSettings { receive_ring: ring, ..nic() };
        fake.answers.nics.insert("eth0".to_owned(), nic);
        fake.set_later(&format!("{LOSSES}/{counter}"), "3");
        let (mended, command) = fix_of(&fake, "nic-losses");
        assert!(mended.starts_with(fix) && command == is_command, "{counter}: {mended}");
    }
}

/// One card has room for a larger ring, and the other has a bad cable.
#[test]
fn words_for_a_person_are_no_command_beside_one() {
    let mut fake = Fake::good();
    fake.target.interfaces.push("eth1".to_owned());
    for (name, counter) in [("eth0", "rx_missed_errors"), ("eth1", "rx_errors")] {
        fake.set(&format!("/sys/class/net/{name}/statistics/{counter}"), "0");
        fake.set_later(&format!("/sys/class/net/{name}/statistics/{counter}"), "3");
    }
    let (mended, is_command) = fix_of(&fake, "nic-losses");
    assert!(mended.contains("ethtool -G eth0 rx 4096; eth1: look at the cable"), "{mended}");
    assert!(!is_command && fake.diagnose().script().contains("by hand: ethtool -G"), "{mended}");
}

#[test]
fn nothing_is_mounted_over_the_channels_of_who_runs() {
    let mut fake = Fake::good();
    fake.set("/proc/self/mounts", "shm /dev/shm tmpfs ro,size=1g 0 0");
    assert_eq!(fix_of(&fake, "shm-mount"), ("mount -o remount,rw /dev/shm".to_owned(), true));
    fake.set("/run/.containerenv", "");
    let (mended, is_command) = fix_of(&fake, "shm-mount");
    assert!(mended.contains("--shm-size") && !is_command, "{mended}");
    for mounts in ["proc /proc proc rw 0 0", "/dev/sda1 /dev/shm ext4 rw 0 0"] {
        let mut fake = Fake::good();
        fake.set("/proc/self/mounts", mounts);
        let (mended, is_command) = fix_of(&fake, "shm-mount");
        assert!(mended.contains("then mount a tmpfs") && !is_command, "{mounts}: {mended}");
    }
}

#[test]
fn what_gives_security_away_is_a_comment_of_the_script() {
    let mut fake = Fake::good();
    fake.set("/sys/devices/system/cpu/vulnerabilities/meltdown", "Mitigation: PTI");
    fake.task(601, "auditd", 0, 5);
    fake.set_key("kernel/io_uring_disabled", "1");
    fake.answers.io_uring = Some(Err(SysError::from_errno("set up ring", 1)));
    fake.set("/proc/self/status", "CapEff: 0");
    for (name, words) in [
        ("mitigations", "boot with mitigations=off"),
        ("audit", "boot with audit=0"),
        ("io-uring", "`sysctl -w kernel.io_uring_disabled=0`"),
        ("network-admin", "`setcap cap_net_admin+ep '/opt/the trader/bin/taut'`"),
    ] {
        let (mended, _) = fix_of(&fake, name);
        assert!(mended.starts_with(words), "{name}: {mended}");
    }
    let script = fake.diagnose().script();
    for line in script.lines().filter(|line| !line.starts_with('#')) {
        for words in ["mitigations", "audit", "io_uring", "setcap"] {
            assert!(!line.contains(words), "{line}");
        }
    }
}

/// Each other user's limits stay what they are, and so does what another user was given.
#[test]
fn a_limit_is_raised_for_the_user_who_asks() {
    let mut fake = Fake::good();
    fake.set("/proc/self/limits", "Max open files 8\nMax locked memory 8\n");
    let limited = |fake: &mut Fake, uid: &str| {
        fake.set("/proc/self/status", &format!("Uid:\t{uid}\t{uid}\nCapEff:\t0"));
        ["open-files", "locked-memory"].map(|name| fix_of(fake, name).0)
    };
    let line = |user: &str, file: &str, item: &str| {
        let file = format!("/etc/security/limits.d/90-taut-{file}.conf");
        format!("echo '{user} - {item}' > {file}; echo 'log in again' >&2")
    };
    assert_eq!(
        limited(&mut fake, "1000"),
        [
            line("trader", "trader-nofile", "nofile 65536"),
            line("trader", "trader-memlock", "memlock unlimited")
        ]
    );
    // A user that the file of users does not have, or whose name a shell would obey.
    fake.set("/etc/passwd", "a'b;reboot:x:1001:1001\n:x:1001:1001\nroot");
    assert_eq!(
        limited(&mut fake, "1001"),
        [
            line(":1001", "1001-nofile", "nofile 65536"),
            line(":1001", "1001-memlock", "memlock unlimited")
        ]
    );
    let [mended, _] = limited(&mut fake, "x");
    assert!(mended.starts_with("put `USER - nofile 65536`"), "{mended}");
}

#[test]
fn what_outlives_the_boot_is_marked_in_the_script() {
    let mut fake = Fake::good();
    fake.set("/proc/self/limits", "Max open files 8\nMax locked memory unlimited");
    fake.set_key("vm/stat_interval", "1");
    fake.set("/sys/devices/system/cpu/nohz_full", "");
    fake.set("/sys/devices/system/cpu/isolated", "");
    fake.task(600, "irqbalance", 0, 0);
    fake.task(500, "ntpd", 1, 5);
    let script = fake.diagnose().script();
    let mut before = "";
    let mut marked = Vec::new();
    for line in script.lines() {
        marked.extend(before.ends_with("holds until it is taken back:").then_some(line));
        let is_marked = marked.last() == Some(&line);
        let is_permanent = line.contains("/etc/security") || line.starts_with("systemctl");
        assert_eq!(is_marked, is_permanent, "{before}\n{line}");
        before = line;
    }
    assert_eq!(marked.len(), 3, "{script}");
}
