//! Why the application refuses an image.

const TEXT_MAX: usize = 64;

/// What the sender is told.
#[derive(Clone, Copy, Debug)]
pub struct Refusal {
    code: i32,
    text: [u8; TEXT_MAX],
    length: usize,
}

impl Refusal {
    /// Of the text as much as there is room for.
    pub fn new(code: i32, text: &[u8]) -> Self {
        let mut refusal = Self { code, text: [0; TEXT_MAX], length: 0 };
        for (place, byte) in refusal.text.iter_mut().zip(text) {
            *place = *byte;
            refusal.length += 1;
        }
        refusal
    }

    pub const fn code(&self) -> i32 {
        self.code
    }

    pub fn text(&self) -> &[u8] {
        self.text.get(..self.length).unwrap_or(&[])
    }
}
