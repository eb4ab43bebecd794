//! The gateway's loop, between its parent and the market.

use std::os::fd::{AsFd, BorrowedFd};

use taut_gateway::{Client, GatewayError, OrderHandler, Regions};
use taut_journal::{HOUSEKEEPING, State, TURN, Writer};
use taut_market_data::FeedHandler;
use taut_sys::{Doorbell, MAPPING_WORDS, Waiter, monotonic, wait_readable};
use taut_types::{Nanos, SequenceNumber};

use super::running::{RestingClient, RunningGateway};
use crate::child::{Parent, SharedClock};
use crate::control::{Order, Published, Reply};
use crate::error::RunnerError;
use crate::outcome::Holdings;
use crate::recording::{Command, Recorder, state_of};
use crate::stderr::tell;

/// How long the feed may take to catch up at the end, before what is missing counts as lost.
const CATCH_UP: Nanos = Nanos::from_secs(5);
/// Rounds with work after which housekeeping is looked at all the same.
const BUSY_ROUNDS: u32 = 256;
/// Lines of positions in one reply, which takes some 16 KiB.
const POSITIONS_IN_A_REPLY: usize = 50;

/// What the gateway's process has of its parent.
pub struct Live<'a, 'm> {
    pub regions: Regions<'m>,
    pub shared_clock: SharedClock<'m>,
    pub own_bell: Option<Doorbell>,
    pub parent: &'a mut Parent,
    pub recorder: Option<Recorder>,
    /// What writes the recording: the gateway's orders stand in it, too.
    pub journal: Option<Writer>,
}

/// What the parent has asked for so far.
#[derive(Debug, Default)]
struct Wishes {
    ready_said: bool,
    draining: bool,
    /// Log out when this packet has arrived, or by this time.
    finish: Option<(Option<Published>, Nanos)>,
    logging_out: bool,
    finished_said: bool,
}

impl Live<'_, '_> {
    /// The gateway is built from here on: its first turn.
    pub fn begin_building(&self) {
        if let Some(recorder) = &self.recorder {
            recorder.begin(TURN);
        }
    }

    /// Runs the gateway until the parent says that it is over.
    pub fn run<C: RestingClient, F: FeedHandler, H: OrderHandler>(
        mut self,
        gateway: &mut RunningGateway<'_, C, F, H>,
        failed: impl Fn(GatewayError) -> RunnerError,
        mut waiter: Waiter,
    ) -> Result<(), RunnerError> {
        if let Some(writer) = self.journal.take() {
            gateway.resume(writer, &State::default()).map_err(&failed)?;
        }
        if let Some(recorder) = &mut self.recorder {
            recorder.end(TURN, true, gateway.journal());
        }
        let mut wishes = Wishes::default();
        let mut busy_rounds = 0;
        loop {
            if self.turn(gateway, TURN, |gateway| gateway.poll()).map_err(&failed)? {
                waiter.worked();
                busy_rounds += 1;
                if busy_rounds < BUSY_ROUNDS {
                    continue;
                }
            } else {
                waiter.idle(|span| self.sleep(gateway, span));
            }
            busy_rounds = 0;
            let keep_house = |gateway: &mut RunningGateway<'_, C, F, H>| gateway.housekeeping();
            if self.turn(gateway, HOUSEKEEPING, keep_house).map_err(&failed)? {
                self.refresh_clock(gateway);
                if let Some(recorder) = &mut self.recorder
                    && recorder.count_round()
                {
                    recorder.note_state(&state_of(gateway), gateway.journal());
                }
                if self.attend(gateway, &mut wishes)? {
                    break;
                }
            }
        }
        self.recorder.map_or(Ok(()), |mut recorder| {
            recorder.note_state(&state_of(gateway), gateway.journal());
            recorder.finish(gateway.close_journal())?.into_iter().for_each(|what| tell(&what));
            Ok(())
        })
    }

    #[inline]
    fn turn<C: RestingClient, F: FeedHandler, H: OrderHandler>(
        &mut self,
        gateway: &mut RunningGateway<'_, C, F, H>,
        kind: u16,
        turn: impl FnOnce(&mut RunningGateway<'_, C, F, H>) -> Result<bool, GatewayError>,
    ) -> Result<bool, GatewayError> {
        let Some(recorder) = &mut self.recorder else { return turn(gateway) };
        recorder.begin(kind);
        let worked = turn(gateway);
        // Of the turn that ended it, all is to be known.
        let has_worked = worked != Ok(false);
        recorder.end(kind, has_worked, gateway.journal());
        worked
    }

    fn refresh_clock<C: RestingClient, F: FeedHandler, H: OrderHandler>(
        &mut self,
        gateway: &mut RunningGateway<'_, C, F, H>,
    ) {
        let before = gateway.clock_mut().mapping();
        self.shared_clock.refresh(gateway.clock_mut());
        let words: [u64; MAPPING_WORDS] = gateway.clock_mut().mapping().to_words();
        if let Some(recorder) = &mut self.recorder
            && words != before.to_words()
        {
            recorder.begin_command();
            recorder.end_command(Command::Clock(words), gateway.journal());
        }
    }

    /// Has the gateway do something, under the eyes of the recorder.
    fn command<C: RestingClient, F: FeedHandler, H: OrderHandler, T>(
        &mut self,
        command: Command,
        gateway: &mut RunningGateway<'_, C, F, H>,
        act: impl FnOnce(&mut RunningGateway<'_, C, F, H>) -> T,
    ) -> T {
        let Some(recorder) = &mut self.recorder else { return act(gateway) };
        recorder.begin_command();
        let done = act(gateway);
        recorder.end_command(command, gateway.journal());
        done
    }

    /// Listens to the parent and moves towards what it wants; whether it is all over.
    fn attend<C: RestingClient, F: FeedHandler, H: OrderHandler>(
        &mut self,
        gateway: &mut RunningGateway<'_, C, F, H>,
        wishes: &mut Wishes,
    ) -> Result<bool, RunnerError> {
        match self.parent.order()? {
            Some(Order::Drain) => {
                self.command(Command::Stop, gateway, |gateway| gateway.client_mut().stop());
                wishes.draining = true;
            }
            Some(Order::Finish { published }) => {
                wishes.finish = Some((published, monotonic() + CATCH_UP));
            }
            Some(Order::Exit) => return Ok(true),
            _ => {}
        }
        if !wishes.ready_said && gateway.is_ready() {
            wishes.ready_said = true;
            self.parent.say(&Reply::Ready)?;
        }
        if wishes.draining && gateway.client_mut().is_idle() {
            wishes.draining = false;
            self.parent.say(&Reply::Drained)?;
        }
        let has_caught_up = |published: Published| {
            let counters = gateway.counters();
            gateway.has_caught_up_with(SequenceNumber(published.last))
                && counters.ticks + counters.recovered >= published.count
        };
        if let Some((published, deadline)) = wishes.finish
            && !wishes.logging_out
            && (published.is_none_or(has_caught_up) || monotonic() >= deadline)
        {
            wishes.logging_out = true;
            let logged_out = self.command(Command::LogOut, gateway, |gateway| gateway.logout());
            logged_out.map_err(|error| RunnerError::Run(error.to_string()))?;
        }
        if gateway.is_logged_out() && !wishes.finished_said {
            wishes.finished_said = true;
            gateway.counters().store(self.regions.gateway);
            let Holdings { positions, profit } = Holdings::of(gateway);
            for some in positions.chunks(POSITIONS_IN_A_REPLY) {
                self.parent.say(&Reply::Positions(some.to_vec()))?;
            }
            self.parent.say(&Reply::Finished { profit })?;
        }
        Ok(false)
    }

    /// Sleeps until a packet, a report, a request or the parent wakes us.
    fn sleep<C: Client, F: FeedHandler, H: OrderHandler>(
        &self,
        gateway: &mut RunningGateway<'_, C, F, H>,
        span: Nanos,
    ) {
        let parent = self.parent.fd();
        let sources = gateway.fd().unwrap_or(parent);
        let bell: BorrowedFd<'_> = self.own_bell.as_ref().map_or(sources, AsFd::as_fd);
        let fds = [sources, bell, parent];
        // Timers run once a millisecond while orders are open; a heartbeat can wait that long too.
        let _ = wait_readable(&fds, Some(span));
        if let Some(bell) = &self.own_bell {
            bell.silence();
        }
    }
}
