//! The gateway of a run once more, with what it heard out of a journal.

use taut_gateway::{OrderHandler, OrderWriter};
use taut_journal::{COMMAND, Frame, HOUSEKEEPING, STATE, TURN};
use taut_market_data::FeedHandler;
use taut_sys::TickMapping;

use super::running::{RestingClient, RunningGateway};
use crate::error::RunnerError;
use crate::recording::{Command, state_of};
use crate::replayed::Judged;
use crate::replaying::{Replaying, compare_state, given};

/// Has the gateway do what it did, up to the end of the journal or the first difference.
pub fn run<C: RestingClient, F: FeedHandler, H: OrderHandler>(
    mut replaying: Replaying<'_>,
    gateway: &mut RunningGateway<'_, C, F, H>,
    mut elsewhere: Option<&mut dyn FnMut()>,
) -> Result<(), RunnerError> {
    if let Some(recovered) = replaying.recovered.take() {
        let resumed = gateway.resume(OrderWriter::Replayed, &recovered);
        resumed.map_err(|error| RunnerError::Run(error.to_string()))?;
    }
    if !replaying.end_building() {
        return Ok(());
    }
    if let Some(limits) = replaying.limits.take() {
        let sizes = gateway.risk().limits().sizes();
        gateway.judge_by(limits(sizes));
    }
    if let Some(elsewhere) = &mut elsewhere {
        elsewhere();
    }
    let mut step = |frame: &Frame<'_>| {
        step(gateway, frame)?;
        let Some(elsewhere) = &mut elsewhere else { return Ok(()) };
        elsewhere();
        let difference = gateway.client_mut().compare_requests();
        difference.map_or(Ok(()), |difference| Err(difference.to_string()))
    };
    replaying.run(&mut step)?;
    let Replaying { found, began, .. } = replaying;
    found.what_if = gateway.what_if().map(|it| Judged::of(it, gateway.instruments(), began));
    found.requests_compared = gateway.client().requests_compared();
    found.counters = gateway.counters();
    Ok(())
}

/// One entry; or what is different.
fn step<C: RestingClient, F: FeedHandler, H: OrderHandler>(
    gateway: &mut RunningGateway<'_, C, F, H>,
    frame: &Frame<'_>,
) -> Result<(), String> {
    match frame.kind {
        TURN => given(frame.bytes, || gateway.poll()),
        HOUSEKEEPING => given(frame.bytes, || gateway.housekeeping()),
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
        STATE => compare_state(frame.bytes, &state_of(gateway)),
        kind => Err(format!("an entry of kind {kind}, which this build does not know")),
    }
}
