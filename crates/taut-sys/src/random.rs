//! Randomness from the kernel, for what an attacker must not guess: session ids, cookies, nonces.

use rustix::io::Errno;
use rustix::rand::{GetRandomFlags, getrandom};

use crate::error::SysError;
use crate::tape::{self, Heard};

/// Fills a buffer with random bytes, good enough for keys. Waits only in the first seconds of a
/// machine's life. Cost: one system call for 256 bytes; not for a hot path.
///
/// # Errors
/// What `getrandom(2)` says.
pub fn random_bytes(buffer: &mut [u8]) -> Result<(), SysError> {
    if tape::is_reading() {
        let given =
            tape::hear(Heard::Random, Vec::new, |_, _| (), |get| Some(get.bytes()?.to_vec()));
        for (byte, given) in buffer.iter_mut().zip(given) {
            *byte = given;
        }
        return Ok(());
    }
    fill(buffer)?;
    tape::hear(Heard::Random, || (), |(), put| put.bytes(buffer), |_| Some(()));
    Ok(())
}

fn fill(buffer: &mut [u8]) -> Result<(), SysError> {
    let mut filled = 0;
    while let Some(rest) = buffer.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match getrandom(rest, GetRandomFlags::empty()) {
            Ok(count) => filled += count,
            Err(Errno::INTR) => {}
            Err(errno) => return Err(SysError::new("random", errno)),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::random_bytes;

    #[test]
    fn fills_the_whole_buffer_and_never_twice_the_same() {
        let (mut first, mut second) = ([0; 1000], [0; 1000]);
        random_bytes(&mut first).expect("random");
        random_bytes(&mut second).expect("random");
        assert_ne!(first, second);
        assert!(first.chunks(100).all(|chunk| chunk.iter().any(|byte| *byte != 0)));
        assert_eq!(random_bytes(&mut []), Ok(()));
    }
}
