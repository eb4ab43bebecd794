//! What a machine is judged for, by the arguments and a gateway's file.

use std::net::Ipv4Addr;
use std::path::Path;

use taut_doctor::{CpuList, GatewayThread, Target};
use taut_runner::service::GatewayFile;

use crate::config_file::failure;
use crate::exit::Failure;

/// A list of CPUs on the command line.
pub fn cpu_list(text: &str) -> Result<CpuList, String> {
    let list = CpuList::parse(text).filter(|list| !list.is_empty());
    list.ok_or_else(|| "a list of CPUs is needed, such as 2,4-5".to_owned())
}

/// The CPUs that are named, and what a gateway's file says. No key of a venue is read, and a CPU
/// that this machine does not have is for the checks to tell.
pub fn of(gateway: Option<&Path>, cpus: Option<&CpuList>) -> Result<Target, Failure> {
    let mut target = Target { cpus: cpus.cloned().unwrap_or_default(), ..Target::default() };
    let Some(path) = gateway else { return Ok(target) };
    let file = GatewayFile::read_for_machine(path).map_err(failure)?;
    target.cpus = target.cpus.iter().chain(file.cpu).collect();
    let wait = file.wait.unwrap_or(taut_sys::Wait::Block).name();
    target.gateway = Some(GatewayThread { cpu: file.cpu, wait });
    target.addresses = match &file.venue {
        Some(venue) => {
            target.interfaces.push(venue.interface.clone());
            vec![*venue.orders.ip()]
        }
        // A venue on the internet is behind the default route.
        None => vec![Ipv4Addr::UNSPECIFIED],
    };
    target.addresses.extend(file.session.backups.iter().map(|backup| *backup.ip()));
    Ok(target)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_gives_its_cpu_its_wait_and_its_network() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("gateway.toml");
        let sample = taut_runner::service::GATEWAY_SAMPLE;
        let text = sample.replace("# cpu = 1", "cpu = 0").replace("\"block\"", "\"spin\"");
        std::fs::write(&path, text).expect("a file");
        let more = CpuList::parse("2").expect("a list");
        let target = of(Some(&path), Some(&more)).expect("a target");
        assert_eq!(target.cpus.to_string(), "0,2");
        assert_eq!(target.gateway, Some(GatewayThread { cpu: Some(0), wait: "spin" }));
        assert_eq!(target.interfaces, ["lo"]);
        assert_eq!(target.addresses, [Ipv4Addr::LOCALHOST]);
        let binance = taut_runner::service::BINANCE_GATEWAY_SAMPLE;
        std::fs::write(&path, binance).expect("a file");
        let target = of(Some(&path), None).expect("a target");
        assert_eq!((target.addresses, target.interfaces), (vec![Ipv4Addr::UNSPECIFIED], vec![]));
        assert!(target.gateway.is_some_and(|gateway| gateway.cpu.is_none()));
    }

    #[test]
    fn a_file_is_judged_with_its_backups_and_with_a_cpu_that_is_not_there() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("gateway.toml");
        let text = taut_runner::service::GATEWAY_SAMPLE
            .replace("# cpu = 1", "cpu = 999")
            .replace("backups = []", "backups = [\"192.0.2.7:9\"]");
        std::fs::write(&path, text).expect("a file");
        let target = of(Some(&path), None).expect("a target");
        assert_eq!(target.cpus.to_string(), "999");
        assert_eq!(target.addresses, [Ipv4Addr::LOCALHOST, Ipv4Addr::new(192, 0, 2, 7)]);
    }

    #[test]
    fn a_list_of_no_cpu_is_none() {
        assert!(cpu_list("1,3-4").is_ok());
        for text in ["", ",", "x", "4-3"] {
            assert!(cpu_list(text).is_err(), "{text}");
        }
    }
}
