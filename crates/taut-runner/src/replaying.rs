//! A journal once more, entry by entry, up to its end or the first difference.

use taut_io::TapedKernel;
use taut_journal::{
    ATTENTION, COMMAND, Frame, GAP, HOUSEKEEPING, JournalError, Reader, STATE, State, TURN,
};
use taut_oms::{RiskLimits, RiskSizes};
use taut_sys::{stop_requests, tape};
use taut_types::Nanos;

use crate::error::RunnerError;
use crate::market_rows::SharedRows;
use crate::packets::{SharedPackets, witness};
use crate::replayed::{Divergence, Held, Replayed};

/// A journal behind the turn in which the gateway is built.
pub struct Replaying<'a> {
    pub reader: &'a mut Reader,
    /// What the gateway's orders had come to before, where they stand in the recording or in a
    /// journal beside it.
    pub recovered: Option<State>,
    /// When the run began.
    pub began: Nanos,
    pub found: &'a mut Replayed,
    pub progress: &'a mut (dyn FnMut(&Held) + 'static),
    /// Limits that its requests are judged by beside those that held.
    pub limits: Option<Limits<'a>>,
    /// Where its market goes.
    pub market: Option<SharedRows>,
    /// Where packets of what passed on its sockets go.
    pub packets: Option<SharedPackets>,
}

/// The limits of a gateway of these sizes.
pub type Limits<'a> = Box<dyn FnOnce(RiskSizes) -> RiskLimits + 'a>;

impl Replaying<'_> {
    /// A kernel that is none.
    pub fn kernel<K>(&self) -> TapedKernel<K> {
        match &self.packets {
            None => TapedKernel::given(),
            Some(packets) => TapedKernel::given().witnessed_by(witness(packets)),
        }
    }

    /// Ends the turn in which the gateway is built, which is read; whether it was built alike.
    pub fn end_building(&mut self) -> bool {
        let Err(difference) = tape::end_reading() else { return true };
        let (entry, what) = (self.found.held.entries, difference.to_string());
        let at = self.found.held.span;
        self.found.divergence = Some(Divergence { entry, at, doing: BUILD, what });
        false
    }

    /// Has each entry done by `step`, which says what is different, if anything is.
    ///
    /// # Errors
    /// Damage of the recording; a stop signal, where they are caught.
    pub fn run(
        &mut self,
        step: &mut dyn FnMut(&Frame<'_>) -> Result<(), String>,
    ) -> Result<(), RunnerError> {
        let Self { reader, found, progress, packets, .. } = self;
        let began = self.began;
        let damaged = |error: JournalError| RunnerError::run("the recording", error);
        loop {
            let Some(frame) = reader.next_frame().map_err(damaged)? else {
                found.held.unfinished = !reader.is_ended();
                break;
            };
            if stop_requests() > 0 {
                return Err(RunnerError::Run("interrupted".to_owned()));
            }
            found.held.note(&frame, began);
            found.held.show(&mut **progress);
            if frame.is_about_orders() {
                // The turn in which they were written down comes behind them.
                continue;
            }
            if let Some(Ok(mut packets)) = packets.as_ref().map(|packets| packets.lock()) {
                packets.set_time(frame.time);
            }
            if frame.kind == GAP {
                // What was not written down cannot be done again, nor what comes behind it.
                found.gap = Some(frame.sequence);
                break;
            }
            if let Err(what) = step(&frame) {
                let (entry, at) = (frame.sequence, frame.time.since(began));
                let doing = doing(frame.kind);
                found.divergence = Some(Divergence { entry, at, doing, what });
                break;
            }
        }
        Ok(())
    }
}

const BUILD: &str = "the gateway was built";

/// What a gateway did in an entry of this kind.
fn doing(kind: u16) -> &'static str {
    match kind {
        TURN => "a turn of the loop",
        HOUSEKEEPING => "a round of housekeeping",
        COMMAND => "a command",
        STATE => "what the gateway had come to",
        ATTENTION => "what is done beside housekeeping",
        _ => "an entry of another build",
    }
}

/// Has the gateway do something with what was heard. An error that ends the gateway has ended it
/// then, too, if all that was heard before is the same.
pub fn given<T>(heard: &[u8], act: impl FnOnce() -> T) -> Result<(), String> {
    tape::begin_reading(heard);
    let _ended = act();
    tape::end_reading().map_err(|difference| difference.to_string())
}

/// Holds what a gateway has come to against what it had.
pub fn compare_state(recorded: &[u8], now: &str) -> Result<(), String> {
    let recorded = String::from_utf8_lossy(recorded);
    if recorded == now { Ok(()) } else { Err(state_difference(&recorded, now)) }
}

/// The parts of two states that differ.
fn state_difference(recorded: &str, now: &str) -> String {
    let pairs = recorded.split(' ').zip(now.split(' ')).filter(|(one, other)| one != other);
    let pairs: Vec<_> = pairs.map(|(one, other)| format!("recorded {one}, now {other}")).collect();
    pairs.join("; ")
}
