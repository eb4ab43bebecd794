//! What processes that run by themselves say, with its code.

use std::fmt::Display;
use std::sync::mpsc::{self, Receiver};

use taut_fix_engine::Tell;
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

/// What threads say that live as long as they like: words in a queue, until somebody tells them.
pub fn queue() -> (Tell, Receiver<String>) {
    let (words, told) = mpsc::channel();
    let tell = move |text: &str| {
        // Nobody tells it any more.
        let _ = words.send(text.to_owned());
    };
    (Tell::new(tell), told)
}

/// Says what a listener made of those who came and did not stay, if there were any.
pub fn tell_not_served(heard: impl Fn(&Entry), at: impl Display, counters: AdmissionCounters) {
    if counters.turned_away() > 0 {
        heard(&entry(&NotServed {}, format!("{at}: not served: {counters}")));
    }
}
