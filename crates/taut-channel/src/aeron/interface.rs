//! `interface=`: by name, by an address that it has, or by a network that it is in.

use std::net::IpAddr;

use taut_sys::{Interface, interfaces};

use crate::error::ChannelError;

/// An interface's index, and its address of the wanted family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    pub index: u32,
    pub address: Option<IpAddr>,
}

/// Finds an interface: `lo`, `{lo}`, `127.0.0.1`, `127.0.0.0/8`, `localhost`.
pub fn find(text: &str, is_ipv6: bool) -> Result<Place, ChannelError> {
    let all = interfaces()?;
    let name = text.trim_start_matches('{').trim_end_matches('}');
    let name = if name == "localhost" { if is_ipv6 { "::1" } else { "127.0.0.1" } } else { name };
    let (address, bits) = match name.split_once('/') {
        Some((address, bits)) => (address, bits.parse().unwrap_or(u8::MAX)),
        None => (name, u8::MAX),
    };
    let found = match address.parse::<IpAddr>() {
        Ok(wanted) => all
            .iter()
            .find(|interface| interface.addresses.iter().any(|has| is_in(*has, wanted, bits))),
        Err(_) => all.iter().find(|interface| interface.name == name),
    };
    let found = found.ok_or_else(|| ChannelError::Io {
        what: format!("interface={text}"),
        error: std::io::Error::other(known(&all)),
    })?;
    let wanted = address.parse::<IpAddr>().ok().filter(|at| found.addresses.contains(at));
    let of_family = found.addresses.iter().copied().find(|at| at.is_ipv6() == is_ipv6);
    Ok(Place { index: found.index, address: wanted.or(of_family) })
}

fn known(all: &[Interface]) -> String {
    let names: Vec<_> = all.iter().map(|interface| interface.name.as_str()).collect();
    format!("no interface of this host; there are {}", names.join(", "))
}

fn is_in(address: IpAddr, network: IpAddr, bits: u8) -> bool {
    match (address, network) {
        (IpAddr::V4(address), IpAddr::V4(network)) => {
            let shift = 32 - u32::from(bits.min(32));
            let cut = |at: std::net::Ipv4Addr| u32::from(at).checked_shr(shift).unwrap_or(0);
            cut(address) == cut(network)
        }
        (IpAddr::V6(address), IpAddr::V6(network)) => {
            let shift = 128 - u32::from(bits.min(128));
            let cut = |at: std::net::Ipv6Addr| u128::from(at).checked_shr(shift).unwrap_or(0);
            cut(address) == cut(network)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::find;

    #[test]
    fn the_loopback_interface_is_found_by_its_name_address_and_network() {
        let by_name = find("lo", false).expect("lo");
        for text in ["{lo}", "127.0.0.1", "127.0.0.0/8", "localhost"] {
            assert_eq!(find(text, false).expect(text), by_name, "{text}");
        }
        let error = find("no-such-0", false).expect_err("unknown").to_string();
        assert!(error.contains("no-such-0") && error.contains("lo"), "{error}");
    }
}
