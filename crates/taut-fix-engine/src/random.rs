//! Random bytes in an array.

/// From the kernel's generator; `None` where it refuses, which no kernel since 3.17 does.
pub fn random<const N: usize>() -> Option<[u8; N]> {
    let mut bytes = [0; N];
    taut_sys::random_bytes(&mut bytes).ok().map(|()| bytes)
}
