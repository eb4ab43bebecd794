//! Many instruments, one writer.

use alloc::vec::Vec;

use taut_types::InstrumentId;

use crate::command::{Command, MassCancel};
use crate::engine::{Engine, EngineConfig};
use crate::event::{Event, EventSink};
use crate::rules::Rules;

/// The engines of several instruments, numbered from zero in the order in which they were listed.
#[derive(Clone, Debug, Default)]
pub struct Exchange {
    engines: Vec<Engine>,
}

impl Exchange {
    /// An exchange without instruments.
    #[must_use]
    pub const fn new() -> Self {
        Self { engines: Vec::new() }
    }

    /// Lists an instrument and reserves its memory.
    pub fn list(&mut self, config: EngineConfig, rules: Rules) -> InstrumentId {
        let id = InstrumentId(u32::try_from(self.engines.len()).unwrap_or(u32::MAX));
        self.engines.push(Engine::with_rules(config, rules));
        id
    }

    /// The engine of an instrument.
    #[must_use]
    pub fn engine(&self, instrument: InstrumentId) -> Option<&Engine> {
        self.engines.get(instrument.0 as usize)
    }

    /// Executes a command on an instrument. Tells whether there is such an instrument; if there is
    /// none, nothing happens.
    #[inline]
    pub fn execute(
        &mut self,
        instrument: InstrumentId,
        command: Command,
        sink: &mut impl EventSink,
    ) -> bool {
        let Some(engine) = self.engines.get_mut(instrument.0 as usize) else { return false };
        engine.execute(command, sink);
        true
    }

    /// Executes a command on every instrument, in their order: the clock, a phase, a mass cancel.
    pub fn execute_all(&mut self, command: Command, sink: &mut impl FnMut(InstrumentId, Event)) {
        for (id, engine) in (0..).map(InstrumentId).zip(&mut self.engines) {
            engine.execute(command, &mut |event| sink(id, event));
        }
    }

    /// Cancels matching orders on every instrument.
    pub fn mass_cancel(&mut self, filter: MassCancel, sink: &mut impl FnMut(InstrumentId, Event)) {
        self.execute_all(Command::MassCancel(filter), sink);
    }

    /// The state hashes of all instruments as one.
    #[must_use]
    pub fn state_hash(&self) -> u64 {
        let mut hash = taut_book::Fnv1a::new();
        self.engines.iter().for_each(|engine| hash.write_u64(engine.state_hash()));
        hash.finish()
    }
}
