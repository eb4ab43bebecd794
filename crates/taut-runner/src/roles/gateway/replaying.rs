//! The same gateway once more, with what it heard out of a journal.

use taut_gateway::OrderHandler;
use taut_journal::{COMMAND, Frame, HOUSEKEEPING, InputReader, STATE, TURN};
use taut_market_data::FeedHandler;
use taut_sys::{TickMapping, tape};
use taut_types::Nanos;

use super::running::{RestingClient, RunningGateway};
use crate::error::RunnerError;
use crate::recording::{Command, state_of};
use crate::replayed::{Divergence, Held, Replayed};

/// A journal behind the turn in which the gateway is built.
pub struct Replaying<'a> {
    pub reader: &'a mut InputReader,
    /// When the run began.
    pub began: Nanos,
    pub found: &'a mut Replayed,
    pub progress: &'a mut (dyn FnMut(&Held) + 'static),
}

impl Replaying<'_> {
    /// Has the gateway do what it did, up to the end of the journal or the first difference.
    pub fn run<C: RestingClient, F: FeedHandler, H: OrderHandler>(
        self,
        gateway: &mut RunningGateway<'_, C, F, H>,
        mut elsewhere: Option<&mut dyn FnMut()>,
    ) -> Result<(), RunnerError> {
        let Self { reader, began, found, progress } = self;
        if let Err(difference) = tape::end_reading() {
            let what = difference.to_string();
            found.divergence = Some(Divergence { entry: 2, at: Nanos::ZERO, doing: BUILD, what });
            return Ok(());
        }
        if let Some(elsewhere) = &mut elsewhere {
            elsewhere();
        }
        let damaged = |error| RunnerError::run("the recording", error);
        while let Some(frame) = reader.next_frame().map_err(damaged)? {
            found.held.note(&frame, began);
            found.held.show(progress);
            let stepped = step(gateway, &frame).and_then(|()| {
                let Some(elsewhere) = &mut elsewhere else { return Ok(()) };
                elsewhere();
                let difference = gateway.client_mut().compare_requests();
                difference.map_or(Ok(()), |difference| Err(difference.to_string()))
            });
            if let Err(what) = stepped {
                let (entry, at) = (frame.sequence, frame.time.since(began));
                let doing = doing(frame.kind);
                found.divergence = Some(Divergence { entry, at, doing, what });
                break;
            }
        }
        found.requests_compared = gateway.client().requests_compared();
        found.counters = gateway.counters();
        found.held.unfinished = reader.tail().is_some();
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
        _ => "an entry of another build",
    }
}

/// One entry; or what is different.
fn step<C: RestingClient, F: FeedHandler, H: OrderHandler>(
    gateway: &mut RunningGateway<'_, C, F, H>,
    frame: &Frame<'_>,
) -> Result<(), String> {
    match frame.kind {
        TURN => given(frame.bytes, || gateway.poll().map(drop)),
        HOUSEKEEPING => given(frame.bytes, || gateway.housekeeping().map(drop)),
        COMMAND => {
            let (command, heard) = Command::read(frame.bytes).ok_or("a command that is none")?;
            given(heard, || match command {
                Command::Clock(words) => {
                    gateway.clock_mut().set_mapping(TickMapping::from_words(words));
                    Ok(())
                }
                Command::Stop => {
                    gateway.client_mut().stop();
                    Ok(())
                }
                Command::LogOut => gateway.logout(),
            })
        }
        STATE => {
            let now = state_of(gateway);
            let recorded = String::from_utf8_lossy(frame.bytes);
            if recorded == now { Ok(()) } else { Err(state_difference(&recorded, &now)) }
        }
        kind => Err(format!("an entry of kind {kind}, which this build does not know")),
    }
}

/// Has the gateway do something with what was heard. An error that ends the gateway has ended it
/// then, too, if all that was heard before is the same.
fn given<E>(heard: &[u8], act: impl FnOnce() -> Result<(), E>) -> Result<(), String> {
    tape::begin_reading(heard);
    let _ended = act();
    tape::end_reading().map_err(|difference| difference.to_string())
}

/// The parts of two states that differ.
fn state_difference(recorded: &str, now: &str) -> String {
    let pairs = recorded.split(' ').zip(now.split(' ')).filter(|(one, other)| one != other);
    let pairs: Vec<_> = pairs.map(|(one, other)| format!("recorded {one}, now {other}")).collect();
    pairs.join("; ")
}
