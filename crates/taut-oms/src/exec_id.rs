//! The venue's name of an execution.

use core::fmt;
use core::hash::{Hash, Hasher};

const BYTES: usize = 39;

/// ExecID, whole up to 39 bytes, as much as a UUID needs; of a longer one the last 39 are kept,
/// which is where ids that count differ.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct ExecId {
    len: u8,
    bytes: [u8; BYTES],
}

impl ExecId {
    /// No name.
    pub const NONE: Self = Self { len: 0, bytes: [0; BYTES] };

    /// This name.
    #[must_use]
    pub fn new(text: &[u8]) -> Self {
        let text = text.get(text.len().saturating_sub(BYTES)..).unwrap_or(&[]);
        let mut bytes = [0; BYTES];
        if let Some(room) = bytes.get_mut(..text.len()) {
            room.copy_from_slice(text);
        }
        Self { len: text.len() as u8, bytes }
    }

    /// Its bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..usize::from(self.len)).unwrap_or(&[])
    }

    /// Whether it names anything: by custom, `0` does not.
    #[must_use]
    pub fn is_none(&self) -> bool {
        matches!(self.as_bytes(), b"" | b"0")
    }

    /// A number that differs for nearly all names.
    pub(crate) fn mixed(&self) -> u64 {
        self.bytes.chunks(8).fold(u64::from(self.len), |mixed, chunk| {
            let mut word = [0; 8];
            for (place, byte) in word.iter_mut().zip(chunk) {
                *place = *byte;
            }
            (mixed.rotate_left(5) ^ u64::from_le_bytes(word)).wrapping_mul(0x517c_c1b7_2722_0a95)
        })
    }
}

impl Hash for ExecId {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_bytes().hash(state);
    }
}

impl fmt::Debug for ExecId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", core::str::from_utf8(self.as_bytes()).unwrap_or("?"))
    }
}
