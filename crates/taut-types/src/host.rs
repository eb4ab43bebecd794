//! One host, as far as limits are concerned.

use core::net::IpAddr;

/// Whom limits by source count as one: an IPv4 address, or an IPv6 network of 64 bits, as whoever
/// has one address of it has all of them (RFC 4291, section 2.5.4; RFC 6177). An IPv4 address in
/// IPv6 (`::ffff:192.0.2.1`) is the same host as in IPv4.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Host {
    /// The address.
    V4(u32),
    /// The upper half of the address.
    V6(u64),
}

impl Host {
    /// The host that an address belongs to.
    #[must_use]
    #[inline]
    pub const fn of(address: IpAddr) -> Self {
        match address.to_canonical() {
            IpAddr::V4(address) => Self::V4(address.to_bits()),
            IpAddr::V6(address) => Self::V6((address.to_bits() >> 64) as u64),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Host;

    fn of(text: &str) -> Host {
        Host::of(text.parse().unwrap())
    }

    #[test]
    fn a_network_of_64_bits_is_one_host_and_an_ipv4_address_is_itself() {
        assert_eq!(of("2001:db8:1:2::1"), of("2001:db8:1:2:ffff:ffff:ffff:ffff"));
        assert_ne!(of("2001:db8:1:2::1"), of("2001:db8:1:3::1"));
        assert_eq!(of("192.0.2.1"), of("::ffff:192.0.2.1"));
        assert_ne!(of("192.0.2.1"), of("192.0.2.2"));
    }
}
