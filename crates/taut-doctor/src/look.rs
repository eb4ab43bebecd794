//! What several checks look for.

use crate::cpu_list::CpuList;
use crate::finding::{Finding, Fix, Unseen};
use crate::machine::Machine;

/// What a check looks for ends in.
pub type Look = Result<Finding, Unseen>;

/// A number of `/proc/sys`, by its key as sysctl(8) has it.
pub fn sysctl(machine: &Machine, key: &str, is_ok: impl Fn(i64) -> bool, wanted: i64) -> Look {
    let value = machine.number(&format!("/proc/sys/{}", key.replace('.', "/")))?;
    Ok(Finding::judge(is_ok(value), format!("{key} = {value}"), || Fix::sysctl(key, wanted)))
}

/// The CPUs that are online, not judged, and not isolated for somebody else: where everything else
/// belongs.
pub fn other_cpus(machine: &Machine) -> Result<CpuList, Unseen> {
    let online = machine.cpu_list("/sys/devices/system/cpu/online")?;
    Ok(online.without(machine.cpus()).without(&machine.isolated_cpus().unwrap_or_default()))
}

/// A parameter of the kernel's command line for the CPUs that are judged, and for those that have
/// it `already`: the kernel is told of all in one list.
pub fn boot_for_cpus(machine: &Machine, parameter: &str, already: &CpuList) -> Fix {
    let cpus = already.or(machine.cpus());
    with_others(machine, |_| Fix::Boot(format!("{parameter}{cpus}")))
}

/// What mends a machine that has another CPU for everything else, and advice for one without.
pub fn with_others(machine: &Machine, fix: impl FnOnce(&CpuList) -> Fix) -> Fix {
    match other_cpus(machine) {
        Ok(others) if !others.is_empty() => fix(&others),
        _ => Fix::Advice("use a machine that has another CPU for everything else".to_owned()),
    }
}

/// Sends interrupt lines to the other CPUs. Those that the kernel manages stay, and are named.
pub fn move_lines(machine: &Machine, numbers: &[String]) -> Fix {
    with_others(machine, |others| {
        Fix::Command(format!(
            "for irq in {}; do echo {others} > /proc/irq/$irq/smp_affinity_list || echo \"irq \
             $irq cannot be moved\" >&2; done",
            numbers.join(" ")
        ))
    })
}

/// For how much of the last minute some task waited for this (`cpu`, `memory`): less than a limit
/// in hundredths of a percent, or what is advised.
pub fn pressure(machine: &Machine, what: &str, limit: u64, advice: &str) -> Look {
    let path = format!("/proc/pressure/{what}");
    let line = machine.field(&path, "some")?;
    let word = line.split_ascii_whitespace().find_map(|word| word.strip_prefix("avg60="));
    let number = word.and_then(|word| word.replace('.', "").parse().ok());
    let hundredths: u64 = number.ok_or_else(|| Unseen(format!("{path} has no avg60")))?;
    let found = format!("{}.{:02}%", hundredths / 100, hundredths % 100);
    Ok(Finding::judge(hundredths < limit, found, || Fix::Advice(advice.to_owned())))
}

/// One look at each interface; what is wrong with one is wrong.
pub fn each_interface(
    machine: &Machine,
    look: impl Fn(&str) -> Result<(bool, String), Unseen>,
    fix: impl Fn(&str) -> Fix,
) -> Look {
    let names = machine.interfaces();
    if names.is_empty() {
        return Err(Unseen("no interface but loopback is used, which has no hardware".to_owned()));
    }
    let (mut words, mut wrong, mut unseen) = (Vec::new(), Vec::new(), None);
    for name in names {
        match look(name) {
            Ok((is_ok, found)) => {
                words.push(format!("{name}: {found}"));
                wrong.extend((!is_ok).then_some(name));
            }
            Err(Unseen(why)) => unseen = unseen.or(Some(why)),
        }
    }
    if let (true, Some(why)) = (words.is_empty(), unseen) {
        return Err(Unseen(why));
    }
    let fixes = || {
        let all: Vec<Fix> = wrong.iter().map(|name| fix(name)).collect();
        let texts: Vec<String> = all.iter().map(Fix::to_string).collect();
        match all.iter().all(|fix| matches!(fix, Fix::Command(_))) {
            true => Fix::Command(texts.join("; ")),
            false => Fix::Advice(texts.join("; ")),
        }
    };
    Ok(Finding::judge(wrong.is_empty(), words.join("; "), fixes))
}

/// A word for the shell, which takes it as it is.
pub fn quoted(word: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-:@/=".contains(&byte);
    match !word.is_empty() && word.bytes().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_word_of_the_machine_is_a_command() {
        assert_eq!(quoted("eth0.12"), "eth0.12");
        assert_eq!(quoted("a;reboot"), "'a;reboot'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
    }
}
