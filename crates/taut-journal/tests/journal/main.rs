//! The journal from outside: whole, killed, damaged, without room.
#![forbid(unsafe_code)]

mod damage;
mod flow;
mod home;
mod kill;
mod recording;
mod recording_power;
mod room;
mod upgrade;
mod whole;
