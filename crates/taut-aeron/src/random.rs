//! Values that nobody can guess, from a secret that the caller gives.

use core::hash::Hasher;

use siphasher::sip::SipHasher24;

/// Numbered values of a keyed hash: one that was seen says nothing about the next.
#[derive(Clone, Copy, Debug)]
pub struct Cookies {
    secret: (u64, u64),
    count: u64,
}

impl Cookies {
    pub const fn new(secret: u128) -> Self {
        Self { secret: ((secret >> 64) as u64, secret as u64), count: 0 }
    }

    /// The next value, never zero.
    pub fn next(&mut self) -> i64 {
        self.count += 1;
        let mut hasher = SipHasher24::new_with_keys(self.secret.0, self.secret.1);
        hasher.write_u64(self.count);
        match hasher.finish().cast_signed() {
            0 => 1,
            value => value,
        }
    }
}
