//! What kind of machine it is, and which of its CPUs and interfaces are judged.

use std::fs;
use std::net::Ipv4Addr;

use super::Machine;
use crate::cpu_list::CpuList;
use crate::target::Target;

impl Machine {
    pub(super) fn looks_virtual(&self) -> bool {
        let cpuinfo = fs::read_to_string(self.path("/proc/cpuinfo")).unwrap_or_default();
        let flags = cpuinfo.lines().find(|line| line.starts_with("flags"));
        flags.is_some_and(|line| line.split_ascii_whitespace().any(|flag| flag == "hypervisor"))
            || self.has("/sys/hypervisor/type")
    }

    pub(super) fn looks_contained(&self) -> Option<String> {
        let marks = [("/.dockerenv", "Docker"), ("/run/.containerenv", "Podman")];
        let mark = marks.iter().find(|(path, _)| self.has(path)).map(|(_, name)| *name);
        let by_group = || {
            let text = self.text("/proc/1/cgroup").ok()?;
            let names = ["docker", "kubepods", "lxc", "containerd", "libpod"];
            names.into_iter().find(|name| text.contains(name))
        };
        mark.or_else(by_group).map(str::to_owned)
    }

    /// Those that are named, or those that are isolated, or the last one.
    pub(super) fn judged_cpus(&self) -> CpuList {
        if !self.target.cpus.is_empty() {
            return self.target.cpus.clone();
        }
        let isolated = self.isolated_cpus().unwrap_or_default();
        if !isolated.is_empty() {
            return isolated;
        }
        let online = self.cpu_list("/sys/devices/system/cpu/online").unwrap_or_default();
        let last = online.iter().next_back().or_else(|| {
            let [_, after] = &self.samples;
            after.cpus.keys().next_back().copied()
        });
        // There is always a first one.
        std::iter::once(last.unwrap_or(0)).collect()
    }

    pub(super) fn judged_interfaces(&self) -> Vec<String> {
        let Target { interfaces, addresses, .. } = &self.target;
        let routes = addresses.iter().filter_map(|address| self.route(*address));
        let mut names: Vec<String> = interfaces.iter().cloned().chain(routes).collect();
        if interfaces.is_empty() && addresses.is_empty() {
            names = self.names("/sys/class/net");
            names.retain(|name| {
                let state = self.text(&format!("/sys/class/net/{name}/operstate"));
                self.has(&format!("/sys/class/net/{name}/device"))
                    && state.is_ok_and(|state| state == "up")
            });
        }
        names.retain(|name| name != "lo");
        names.sort();
        names.dedup();
        names
    }

    /// The interface that a packet to this address leaves by.
    fn route(&self, address: Ipv4Addr) -> Option<String> {
        if address.is_loopback() {
            return Some("lo".to_owned());
        }
        let text = self.text("/proc/net/route").ok()?;
        let line = |line: &str| {
            let words: Vec<&str> = line.split_ascii_whitespace().collect();
            let [name, to, _, _, _, _, _, mask, ..] = words.as_slice() else { return None };
            // In the machine's byte order.
            let number = |text: &str| u32::from_str_radix(text, 16).ok().map(u32::swap_bytes);
            let (to, mask) = (number(to)?, number(mask)?);
            (u32::from(address) & mask == to).then(|| (mask, (*name).to_owned()))
        };
        text.lines().skip(1).filter_map(line).max_by_key(|(mask, _)| *mask).map(|(_, name)| name)
    }
}
