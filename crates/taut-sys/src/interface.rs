//! The machine's network interfaces.

use std::ffi::CStr;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::error::SysError;

/// A network interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// Its name.
    pub name: String,
    /// Its index, by which groups are joined.
    pub index: u32,
    /// It is up and takes multicast.
    pub multicast: bool,
    /// Its addresses.
    pub addresses: Vec<IpAddr>,
}

/// The interfaces of this network namespace that have an address, by index. Allocates: for setting
/// up only.
///
/// # Errors
/// What `getifaddrs(3)` says.
pub fn interfaces() -> Result<Vec<Interface>, SysError> {
    let mut list: *mut libc::ifaddrs = std::ptr::null_mut();
    // SAFETY: the pointer to write the list to is valid.
    if unsafe { libc::getifaddrs(&raw mut list) } != 0 {
        return Err(SysError::last("interfaces"));
    }
    let mut found: Vec<Interface> = Vec::new();
    let mut next = list;
    // SAFETY: getifaddrs made a list that ends with null, valid until it is freed below.
    while let Some(entry) = unsafe { next.as_ref() } {
        next = entry.ifa_next;
        let Some(address) = address_of(entry) else { continue };
        // SAFETY: the name is a C string that lives as long as the list.
        let name = unsafe { CStr::from_ptr(entry.ifa_name) };
        let up_and_multicast = (libc::IFF_UP | libc::IFF_MULTICAST).cast_unsigned();
        let name_text = name.to_string_lossy().into_owned();
        match found.iter_mut().find(|interface| interface.name == name_text) {
            Some(interface) => interface.addresses.push(address),
            None => found.push(Interface {
                name: name_text,
                // SAFETY: the name is a C string.
                index: unsafe { libc::if_nametoindex(name.as_ptr()) },
                multicast: entry.ifa_flags & up_and_multicast == up_and_multicast,
                addresses: vec![address],
            }),
        }
    }
    // SAFETY: the list is that of getifaddrs and is not used any more.
    unsafe { libc::freeifaddrs(list) };
    found.sort_by_key(|interface| interface.index);
    Ok(found)
}

fn address_of(entry: &libc::ifaddrs) -> Option<IpAddr> {
    // SAFETY: an address is null or points to a socket address that starts with its family.
    let family = unsafe { entry.ifa_addr.as_ref()? }.sa_family;
    match i32::from(family) {
        libc::AF_INET => {
            // SAFETY: the family says that it is a sockaddr_in; the read may be unaligned.
            let v4 = unsafe { entry.ifa_addr.cast::<libc::sockaddr_in>().read_unaligned() };
            Some(IpAddr::V4(Ipv4Addr::from(u32::from_be(v4.sin_addr.s_addr))))
        }
        libc::AF_INET6 => {
            // SAFETY: the family says that it is a sockaddr_in6; the read may be unaligned.
            let v6 = unsafe { entry.ifa_addr.cast::<libc::sockaddr_in6>().read_unaligned() };
            Some(IpAddr::V6(Ipv6Addr::from(v6.sin6_addr.s6_addr)))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_loopback_interface() {
        let all = interfaces().expect("interfaces");
        let lo = all.iter().find(|i| i.addresses.contains(&Ipv4Addr::LOCALHOST.into()));
        assert!(lo.is_some_and(|lo| lo.index > 0 && !lo.multicast));
    }
}
