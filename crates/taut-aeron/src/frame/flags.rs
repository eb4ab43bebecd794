//! The bits of the flags byte.

/// Flags of a data frame.
pub mod data_flags {
    /// The first fragment of a message.
    pub const BEGIN: u8 = 0x80;
    /// The last fragment of a message.
    pub const END: u8 = 0x40;
    /// A whole message in one frame.
    pub const UNFRAGMENTED: u8 = BEGIN | END;
    /// Nothing comes after this position.
    pub const END_OF_STREAM: u8 = 0x20;
    /// The publication was taken back.
    pub const REVOKED: u8 = 0x10;
}

/// Flags of control frames.
pub mod control_flags {
    /// A status message that asks for a SETUP.
    pub const SEND_SETUP: u8 = 0x80;
    /// A status message of a receiver that has everything up to the end of the stream.
    pub const STATUS_END_OF_STREAM: u8 = 0x40;
    /// A status message of a receiver that tells where it is whenever it says something (a stock
    /// one repeats what it said last until it is a quarter of its window further). Stock senders
    /// ignore the bit.
    pub const STATUS_EXACT: u8 = 0x01;
    /// A SETUP of a sender with many receivers.
    pub const SETUP_GROUP: u8 = 0x40;
    /// A SETUP of a sender that repairs again after one round trip (a stock one lingers 10 ms).
    /// Stock receivers ignore the bit.
    pub const SETUP_PROMPT: u8 = 0x01;
    /// A round-trip frame that wants to be echoed.
    pub const REPLY: u8 = 0x80;
    /// An error frame with a group tag.
    pub const ERROR_GROUP_TAG: u8 = 0x08;
}
