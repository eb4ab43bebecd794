//! The processes that are killed.

use taut_ipc::{Channel, ChannelOptions};
use taut_sync::atomic::{AtomicU64, Ordering};
use taut_sys::{Access, monotonic};

use crate::bench::ipc_kill::ends::{Reader, Writer};
use crate::bench::ipc_kill::plan::{
    ATTACHED_NS, COMMITTED, FIRST_NS, IN_CALL, LOST, MESSAGES, Ring, TORN,
};

/// Writes until it is killed.
pub fn write(name: &str, notes: &[AtomicU64], ring: Ring) {
    let note = |at: usize, value: u64| notes[at].store(value, Ordering::Release);
    note(ATTACHED_NS, monotonic().0.unsigned_abs());
    let options = ChannelOptions::default();
    let Ok(channel) = Channel::open(name, Access::Write, &options) else { return };
    let Ok(mut writer) = Writer::open(&channel, ring) else { return };
    while !writer.send() {}
    note(COMMITTED, writer.committed());
    note(FIRST_NS, monotonic().0.unsigned_abs());
    loop {
        note(IN_CALL, 1);
        if writer.send() {
            note(COMMITTED, writer.committed());
        }
        note(IN_CALL, 0);
    }
}

/// Reads until it is killed.
pub fn read(name: &str, notes: &[AtomicU64], ring: Ring) {
    let note = |at: usize, value: u64| notes[at].store(value, Ordering::Release);
    let options = ChannelOptions::default();
    let Ok(channel) = Channel::open(name, Access::Write, &options) else { return };
    let Ok(mut reader) = Reader::open(&channel, ring) else { return };
    loop {
        note(IN_CALL, 1);
        reader.take();
        note(TORN, reader.torn);
        note(LOST, reader.lost);
        note(MESSAGES, reader.messages);
        note(IN_CALL, 0);
    }
}
