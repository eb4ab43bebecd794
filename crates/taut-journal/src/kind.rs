//! Kinds of entries of a recording. Those about orders have numbers below 128; their table stands
//! at the top of `pack.rs`. Who keeps a journal without them may have kinds of its own there.

/// What the run was: the first entry of a recording.
pub const RUN: u16 = 128;
/// A turn of the gateway's loop.
pub const TURN: u16 = 129;
/// A round of housekeeping.
pub const HOUSEKEEPING: u16 = 130;
/// A command of whoever runs the gateway.
pub const COMMAND: u16 = 131;
/// What the gateway had come to.
pub const STATE: u16 = 132;
/// A round of all that is done beside the gateway's own housekeeping: commands, signals, dead man's
/// timers.
pub const ATTENTION: u16 = 133;
/// What an order journal in another folder recovered: behind the first one.
pub const RECOVERED: u16 = 134;
/// It stands where entries were dropped: how many.
pub const GAP: u16 = 135;
/// The recording was ended, and nothing comes behind it. Readers see it and do not give it.
pub(crate) const END: u16 = 136;
/// A mark: all entries up to a number (64 bits) were on the disk before this was written. It has the
/// number that is due next, and uses none up; readers see it and do not give it.
pub(crate) const SAFE: u16 = 137;

/// Whether an entry of this kind is of a recording, and not about orders.
#[inline]
pub(crate) const fn is_recorded(kind: u16) -> bool {
    kind >= RUN
}
