//! What the thread that trades hears from the other threads of its process, on its tape.

use std::sync::mpsc::{Receiver, TryRecvError};

use taut_sys::tape::{self, Get, Heard, Put};
use taut_sys::{kill_requests, monotonic};
use taut_types::Nanos;

use crate::service::connections::{Served, get_addresses, put_addresses};
use crate::service::file::GatewayFile;
use crate::service::new_instruments::new_instruments;
use crate::service::recorded::{Given, get, put};
use crate::service::resolver::Moved;
use crate::service::threads::{Command, Numbered, UNASKED};

/// What somebody wants.
pub enum Asked {
    Nothing,
    /// Whoever could ask is gone.
    Over,
    Command(Box<Numbered<Command>>),
}

/// The monotonic time.
pub fn now() -> Nanos {
    Nanos(tape::time(|| monotonic().0.cast_unsigned()).cast_signed())
}

/// How many signals have asked for everything to be killed.
pub fn kills() -> u32 {
    let get = |from: &mut Get<'_>| u32::try_from(from.number()?).ok();
    tape::hear(Heard::Count, kill_requests, |kills, on| on.number((*kills).into()), get)
}

/// The next command that does something; the others are answered by `look`, on no tape.
pub fn next(
    from: &Receiver<Numbered<Command>>,
    file: Option<&GatewayFile>,
    look: &mut dyn FnMut(Numbered<Command>),
) -> Asked {
    if tape::is_reading() {
        return given(file);
    }
    let asked = loop {
        match from.try_recv() {
            Ok((number, command)) if command.only_looks() => {
                tape::outside(|| look((number, command)));
            }
            Ok(asked) => break Asked::Command(Box::new(asked)),
            Err(TryRecvError::Empty) => break Asked::Nothing,
            Err(TryRecvError::Disconnected) => break Asked::Over,
        }
    };
    if !matches!(asked, Asked::Nothing) {
        tape::mark_effect();
    }
    let put = |(): &(), on: &mut Put<'_>| match &asked {
        Asked::Nothing => on.number(0),
        Asked::Over => on.number(1),
        Asked::Command(asked) => {
            on.number(2);
            put(&asked.1, on);
        }
    };
    tape::hear(Heard::Command, || (), put, |_| None);
    asked
}

/// The command of the tape; `file` is the one that was taken last.
fn given(file: Option<&GatewayFile>) -> Asked {
    let get = |from: &mut Get<'_>| match from.number()? {
        0 => Some(Ok(Asked::Nothing)),
        1 => Some(Ok(Asked::Over)),
        _ => get(from).map(Err),
    };
    let nothing = || Ok(Asked::Nothing);
    let command = match tape::hear_or(Heard::Command, nothing, |_, _| (), get, nothing) {
        Ok(asked) => return asked,
        Err(Given::Command(command)) => Some(command),
        Err(Given::Limits(file)) => limits(file),
        Err(Given::Instrument(place)) => file.and_then(|file| instrument(file, place)),
    };
    command.map_or(Asked::Nothing, |command| Asked::Command(Box::new((UNASKED, command))))
}

fn limits(file: Box<GatewayFile>) -> Option<Command> {
    let rules = file.rules().ok()?.risk;
    Some(Command::SetRules(Box::new(rules), Box::new(file.watched()), file))
}

fn instrument(file: &GatewayFile, place: usize) -> Option<Command> {
    let (instruments, rules) = (file.instruments().ok()?, file.rules().ok()?);
    let new = new_instruments(file, &instruments, &rules.risk.groups, place).into_iter().next();
    Some(Command::AddInstrument(Box::new(new?)))
}

/// Where a part of the venue is now, if it has moved.
pub fn moved(from: &Receiver<Moved>) -> Option<Moved> {
    const PARTS: [Served; 4] =
        [Served::Orders, Served::Questions, Served::Stream, Served::Snapshots];
    let put = |moved: &Option<Moved>, on: &mut Put<'_>| {
        let Some(Moved { served, addresses }) = moved else { return on.number(0) };
        let part = PARTS.iter().position(|part| part == served).unwrap_or_default();
        on.number(part as u64 + 1);
        put_addresses(addresses, on);
    };
    let get = |from: &mut Get<'_>| match from.number()? {
        0 => Some(None),
        part => {
            let served = *PARTS.get(usize::try_from(part - 1).ok()?)?;
            Some(Some(Moved { served, addresses: get_addresses(from)? }))
        }
    };
    let ask = || {
        let moved = from.try_recv().ok();
        if moved.is_some() {
            tape::mark_effect();
        }
        moved
    };
    tape::hear(Heard::Place, ask, put, get)
}
