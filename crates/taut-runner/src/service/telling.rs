//! What processes that run by themselves say, with its code.

use std::fmt::Display;

use taut_io::AdmissionCounters;
use taut_log::messages::NotServed;
use taut_log::{Entry, Message};
use taut_sys::utc;

/// Who is told what a process says, line by line, from any of its threads.
pub type Heard<'a> = &'a (dyn Fn(&Entry) + Sync);

/// What a thread that does not trade says now.
pub fn entry<M: Message>(message: &M, words: impl Into<String>) -> Entry {
    Entry::new(message, utc(), words)
}

/// Says what a listener made of those who came and did not stay, if there were any.
pub fn tell_not_served(heard: impl Fn(&Entry), at: impl Display, counters: AdmissionCounters) {
    if counters.turned_away() > 0 {
        heard(&entry(&NotServed {}, format!("{at}: not served: {counters}")));
    }
}
