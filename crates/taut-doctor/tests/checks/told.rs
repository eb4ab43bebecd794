//! How a diagnosis is told: lines, JSON, a script.

use std::io::Write;
use std::process::{Command, Stdio};

use taut_doctor::{Severity, checks};
use taut_testkit::odd_json_keys;

use crate::fake::Fake;

/// A machine of which many things are wrong, in words that a shell would obey.
fn hostile() -> Fake {
    let mut fake = Fake::good();
    let name = "eth0;touch x'y\"$(z)`w`";
    fake.target.interfaces = vec![name.to_owned()];
    fake.set(&format!("/sys/class/net/{name}/operstate"), "down\nreboot\n'");
    fake.set(&format!("/sys/class/net/{name}/napi_defer_hard_irqs"), "0");
    fake.set(&format!("/sys/class/net/{name}/gro_flush_timeout"), "0");
    fake.set(&format!("/proc/sys/net/ipv4/conf/{name}/rp_filter"), "1");
    fake.set("/sys/devices/system/cpu/isolated", "");
    fake.set("/proc/cmdline", "");
    fake.set("/sys/devices/system/cpu/nohz_full", "");
    fake.set_of_cpu("cpuidle/state1/disable", "0");
    fake.set_of_cpu("cpufreq/scaling_governor", "it's '\"`$(reboot)`");
    fake.task(900, "a;reboot\nb'", 3, 0);
    fake.task_later(900, "a;reboot\nb'", 3, 99);
    fake.set("/proc/self/limits", "Max open files 8\nMax locked memory 8\n");
    fake
}

#[test]
fn the_script_is_a_shell_script_whatever_the_machine_says() {
    let shells = [Fake::good().diagnose(), hostile().diagnose(), Fake::silent().diagnose()];
    for script in shells.map(|diagnosis| diagnosis.script()) {
        let mut shell = Command::new("sh");
        let mut shell = shell.arg("-n").stdin(Stdio::piped()).spawn().expect("sh");
        let mut input = shell.stdin.take().expect("a pipe");
        input.write_all(script.as_bytes()).expect("read");
        drop(input);
        assert!(shell.wait().expect("sh").success(), "{script}");
    }
}

/// Nobody promises what a file of /proc or /sys holds.
#[test]
fn no_text_of_any_file_ends_the_program() {
    let largest = u64::MAX;
    let numbers =
        format!("CPU0 CPU3\ncpu3 {0}\n41: {0}\nUdp: {0}\n", format!("{largest} ").repeat(60));
    let texts =
        ["", "\u{0}\u{fffd}=,:-/", "-9223372036854775808", "18446744073709551615", &numbers];
    for path in Fake::good().paths() {
        for text in texts {
            let mut fake = Fake::good();
            fake.set(&path, text);
            fake.set_later("/proc/stat", &numbers);
            fake.set_later("/proc/interrupts", &numbers);
            let diagnosis = fake.diagnose();
            assert_eq!(diagnosis.checks.len(), checks().count(), "{path}: {text}");
        }
    }
}

#[test]
fn the_script_holds_what_mends_and_what_is_left_to_people() {
    let script = hostile().diagnose().script();
    assert!(script.starts_with("#!/bin/sh\n"), "{script}");
    let parameters = "parameters='isolcpus=managed_irq,domain,3 nohz_full=3 rcu_nocbs=3 \
                      skew_tick=1'";
    for words in [parameters, "for cpu in 3; do echo performance", "# governor (important):"] {
        assert!(script.contains(words), "{words} in {script}");
    }
    for line in script.lines() {
        // What the machine calls itself stands in comments or in quotes.
        assert!(!line.contains("reboot") || line.starts_with('#'), "{line}");
    }
    let nothing = Fake::good().diagnose().script();
    assert!(nothing.lines().all(|line| line.starts_with('#') || line == "set -u"), "{nothing}");
}

/// The kernel refuses a second list of CPUs that differs from the first.
#[test]
fn a_parameter_that_grub_has_already_is_replaced() {
    let script = hostile().diagnose().script();
    let (_, edit) = script.split_once("/etc/default/grub ]; then\n").expect("the edit");
    let (edit, _) = edit.split_once("    if command").expect("its end");
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("grub");
    let text = "GRUB_CMDLINE_LINUX_DEFAULT=\"quiet nohz_full=2\"\n\
                GRUB_CMDLINE_LINUX=\"isolcpus=2 ro rcu_nocbs=2 xisolcpus=2\"\n";
    std::fs::write(&path, text).expect("a file");
    let edit = edit.replace("/etc/default/grub", &path.display().to_string());
    let edit = format!("set -eu\nparameters='isolcpus=domain,2-3 nohz_full=2-3'\n{edit}");
    let shell = Command::new("sh").args(["-c", &edit]).status().expect("sh");
    assert!(shell.success(), "{edit}");
    let after = std::fs::read_to_string(&path).expect("a file");
    assert_eq!(
        after,
        "GRUB_CMDLINE_LINUX_DEFAULT=\"quiet \"\n\
         GRUB_CMDLINE_LINUX=\" ro rcu_nocbs=2 xisolcpus=2 isolcpus=domain,2-3 nohz_full=2-3\"\n"
    );
}

#[test]
fn json_has_a_row_for_each_check_and_counts_that_add_up() {
    let diagnosis = hostile().diagnose();
    let text = serde_json::to_string(&diagnosis).expect("JSON");
    assert_eq!(odd_json_keys(&text), [""; 0], "{text}");
    let json: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let rows = json["checks"].as_array().expect("rows");
    assert_eq!(rows.len(), checks().count());
    for row in rows {
        for key in ["name", "group", "severity", "verdict", "found", "wanted", "why", "cost"] {
            assert!(row[key].is_string(), "{key}: {row}");
        }
        assert_eq!(row["fix"].is_string(), row["verdict"] == "wrong", "{row}");
    }
    let wrong = json["wrong"].as_object().expect("counts");
    let wrong: u64 = wrong.values().filter_map(serde_json::Value::as_u64).sum();
    let count = |key: &str| json[key].as_u64().expect("a count");
    assert_eq!(count("ok") + wrong + count("unseen"), rows.len() as u64);
    assert_eq!(json["cpus"], "3");
}

#[test]
fn what_is_wrong_is_told_with_its_reason_and_its_remedy() {
    let diagnosis = hostile().diagnose();
    assert!(diagnosis.is_wrong_from(Severity::Critical), "the interface is down");
    assert!(!Fake::good().diagnose().is_wrong_from(Severity::Minor));
    let text = diagnosis.to_string();
    for words in ["  important cpus-isolated", "because: ", "mended by: grubby", "costs: "] {
        assert!(text.contains(words), "{words} in {text}");
    }
    let last = text.lines().last().expect("a summary");
    assert!(last.starts_with(&format!("{} checks of CPUs 3", checks().count())), "{last}");
}
