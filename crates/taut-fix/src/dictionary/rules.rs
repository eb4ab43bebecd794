//! Which checks are made, and what a failed one says.

use crate::error::RejectReason;

/// The checks that a dictionary makes; each can be switched off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// Header fields come before the body's, the trailer's behind it.
    pub field_order: bool,
    /// Every field has a value.
    pub values_present: bool,
    /// User-defined tags (5000 and above) must be in the dictionary too.
    pub user_defined: bool,
    /// Fields that the dictionary knows, but not for this type of message, are let through.
    pub allow_unknown_fields: bool,
    /// What is required is there.
    pub required: bool,
    /// Values have the format of their type.
    pub formats: bool,
    /// Values are among the listed ones.
    pub ranges: bool,
    /// A group has as many entries as it says.
    pub group_counts: bool,
    /// Every entry of a group starts with the group's first field.
    pub group_starts: bool,
    /// The length right before a data field is the number of its bytes.
    pub data_lengths: bool,
}

impl Rules {
    /// Every check.
    pub const ALL: Self = Self {
        field_order: true,
        values_present: true,
        user_defined: true,
        allow_unknown_fields: false,
        required: true,
        formats: true,
        ranges: true,
        group_counts: true,
        group_starts: true,
        data_lengths: true,
    };
}

impl Default for Rules {
    fn default() -> Self {
        Self::ALL
    }
}

/// What is wrong with a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Why it is rejected.
    pub reason: RejectReason,
    /// The tag at fault; `None` when it is the type of the message.
    pub tag: Option<i32>,
    /// Where the value at fault starts, or the end of the fields when one is missing.
    pub offset: usize,
}
