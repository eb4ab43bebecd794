//! Cookies: who can show one gets datagrams at the address that it was made for.

use core::net::{IpAddr, SocketAddr};

use taut_types::Nanos;

use super::seal::{Key, TAG_BYTES, same};

/// How long a cookie is made the same way; it is good for one to two of these.
const EPOCH: Nanos = Nanos::from_secs(600);

/// A cookie.
pub(crate) type Cookie = [u8; TAG_BYTES];

/// Makes and checks cookies: keyed hashes of address, session and time, nothing to remember.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Baker {
    secret: Key,
    session: u64,
}

impl Baker {
    pub(crate) const fn new(secret: Key, session: u64) -> Self {
        Self { secret, session }
    }

    /// The cookie of an address now.
    pub(crate) fn bake(&self, now: Nanos, of: SocketAddr) -> Cookie {
        self.at(now.0.div_euclid(EPOCH.0), of)
    }

    /// Whether it was made for this address lately.
    pub(crate) fn is_good(&self, now: Nanos, of: SocketAddr, cookie: &Cookie) -> bool {
        let epoch = now.0.div_euclid(EPOCH.0);
        same(cookie, &self.at(epoch, of)) || same(cookie, &self.at(epoch - 1, of))
    }

    fn at(&self, epoch: i64, of: SocketAddr) -> Cookie {
        let address = match of.ip() {
            IpAddr::V4(address) => address.to_ipv6_mapped().octets(),
            IpAddr::V6(address) => address.octets(),
        };
        let (session, port) = (self.session.to_le_bytes(), of.port().to_le_bytes());
        self.secret.hash(&[&session, &epoch.to_le_bytes(), &address, &port])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cookie_is_good_for_its_address_and_for_a_while() {
        let baker = Baker::new(Key::new([3; 16]), 9);
        let [near, far]: [SocketAddr; 2] =
            ["127.0.0.1:4000", "127.0.0.1:4001"].map(|text| text.parse().expect("address"));
        let now = Nanos::from_secs(601);
        let cookie = baker.bake(now, near);
        assert!(baker.is_good(now, near, &cookie));
        assert!(baker.is_good(Nanos::from_secs(1799), near, &cookie), "one epoch later");
        assert!(!baker.is_good(Nanos::from_secs(1800), near, &cookie), "two epochs later");
        assert!(!baker.is_good(now, far, &cookie));
        assert!(!Baker::new(Key::new([3; 16]), 8).is_good(now, near, &cookie), "a restart");
        assert!(!baker.is_good(now, near, &[0; 16]));
    }
}
