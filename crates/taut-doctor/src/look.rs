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

/// The CPUs that are online and not judged: where everything else belongs.
pub fn other_cpus(machine: &Machine) -> Result<CpuList, Unseen> {
    Ok(machine.cpu_list("/sys/devices/system/cpu/online")?.without(machine.cpus()))
}

/// What mends a machine that has another CPU for everything else, and advice for one without.
pub fn with_others(machine: &Machine, fix: impl FnOnce(&CpuList) -> Fix) -> Fix {
    match other_cpus(machine) {
        Ok(others) if !others.is_empty() => fix(&others),
        _ => Fix::Advice("use a machine that has another CPU for everything else".to_owned()),
    }
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
