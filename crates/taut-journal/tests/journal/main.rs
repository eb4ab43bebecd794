//! The journal from outside: whole, killed, damaged, without room.
#![forbid(unsafe_code)]

mod damage;
mod flow;
mod inputs;
mod inputs_power;
mod kill;
mod room;
mod upgrade;
mod whole;
