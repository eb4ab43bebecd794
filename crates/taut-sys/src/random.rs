//! Randomness for secrets.

use rustix::io::Errno;
use rustix::rand::{GetRandomFlags, getrandom};

/// Bytes of the kernel's generator, fit for nonces and session ids. Waits only in the first moments
/// of a machine's life. Cost: one system call.
#[must_use]
pub fn random_bytes<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    let mut filled = 0;
    while let Some(room) = bytes.get_mut(filled..).filter(|room| !room.is_empty()) {
        match getrandom(room, GetRandomFlags::empty()) {
            Ok(count) => filled += count,
            Err(Errno::INTR) => {}
            // Every kernel since 3.17 has it, and none refuses a buffer of ours.
            Err(error) => unreachable!("getrandom: {error}"),
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::random_bytes;

    #[test]
    fn two_draws_differ() {
        assert_ne!(random_bytes::<32>(), random_bytes::<32>());
        assert_eq!(random_bytes::<0>(), []);
    }
}
