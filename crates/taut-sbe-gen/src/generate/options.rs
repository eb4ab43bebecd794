//! What to generate.

/// Which messages to generate, in which direction, and where their runtime is. The default is
/// everything of a schema, over the crate `taut-sbe`.
#[derive(Clone, Debug, Default)]
pub struct Options {
    pub(crate) messages: Vec<String>,
    pub(crate) direction: Direction,
    pub(crate) is_stand_alone: bool,
}

/// What is generated for a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Direction {
    /// A decoder and an encoder.
    #[default]
    Both,
    /// A decoder.
    Decode,
    /// An encoder.
    Encode,
}

impl Options {
    /// Only these messages and the types that they need; all of the schema when none is named.
    #[must_use]
    pub fn messages(mut self, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.messages = names.into_iter().map(Into::into).collect();
        self
    }

    /// Only decoders, or only encoders.
    #[must_use]
    pub const fn direction(mut self, direction: Direction) -> Self {
        self.direction = direction;
        self
    }

    /// The generated source carries its own copy of the runtime, and depends on nothing.
    #[must_use]
    pub const fn stand_alone(mut self) -> Self {
        self.is_stand_alone = true;
        self
    }

    pub(crate) fn decodes(&self) -> bool {
        self.direction != Direction::Encode
    }

    pub(crate) fn encodes(&self) -> bool {
        self.direction != Direction::Decode
    }
}
