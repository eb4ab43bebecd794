//! The points of a sweep on several threads, over recordings that are in memory once.

use std::num::NonZeroUsize;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use taut_backtest::Recording;
use taut_gateway::Strategy;
use taut_types::Nanos;

use super::driver::run;
use super::outcome::{BacktestEnd, BacktestOutcome};
use super::sweep::SweepPoint;
use super::ways::LatencyFiles;
use crate::error::RunnerError;

/// How long nothing may be heard before who waits is asked whether to go on.
const LOOK: Duration = Duration::from_millis(200);

/// Runs points, each by itself: what one comes to does not depend on the others, nor on how many
/// threads there are. `make` builds the strategy, `digest` takes of a run what is to be kept, in
/// the thread that ran it; `tell` hears of each as it is there, in any order, and of nothing now
/// and then. `go_on` is asked by all threads; runs that it ends are not told.
///
/// # Errors
/// The first point that cannot be run, or what `tell` says; the others end then.
pub fn run_points<P: Sync, S: Strategy, T: Send>(
    points: &[&SweepPoint<P>],
    recordings: &[Recording],
    threads: NonZeroUsize,
    make: impl Fn(&P, Nanos) -> S + Sync,
    digest: impl Fn(&SweepPoint<P>, &BacktestOutcome) -> T + Sync,
    go_on: impl Fn() -> bool + Sync,
    tell: &mut dyn FnMut(Option<(usize, T)>) -> Result<(), RunnerError>,
) -> Result<(), RunnerError> {
    let next = Mutex::new(points.iter());
    let is_over = Mutex::new(false);
    let over = || *is_over.lock().unwrap_or_else(PoisonError::into_inner);
    let end = || *is_over.lock().unwrap_or_else(PoisonError::into_inner) = true;
    let files = LatencyFiles::default();
    let one = |point: &SweepPoint<P>| -> Result<Option<T>, RunnerError> {
        let markets = point.file.markets_with(recordings, &files)?;
        let build = |now| make(&point.file.parameters, now);
        let mut look = |_| go_on() && !over();
        let outcome = run(markets, &point.file.settings()?, build, &mut look)?;
        Ok((outcome.end != BacktestEnd::Stopped).then(|| digest(point, &outcome)))
    };
    let (done, results) = sync_channel(threads.get());
    std::thread::scope(|scope| {
        for _ in 0..threads.get().min(points.len()) {
            let (done, next, one, over, go_on) = (done.clone(), &next, &one, &over, &go_on);
            scope.spawn(move || {
                while go_on() && !over() {
                    let point = next.lock().unwrap_or_else(PoisonError::into_inner).next();
                    let Some(point) = point else { return };
                    if done.send((point.number, one(point))).is_err() {
                        return;
                    }
                }
            });
        }
        drop(done);
        let mut failed = None;
        loop {
            let told = match results.recv_timeout(LOOK) {
                Ok((number, Ok(Some(result)))) => tell(Some((number, result))),
                Ok((_, Ok(None))) => Ok(()),
                Ok((_, Err(error))) => Err(error),
                Err(RecvTimeoutError::Timeout) => tell(None),
                Err(RecvTimeoutError::Disconnected) => break,
            };
            if let Err(error) = told {
                failed.get_or_insert(error);
                end();
            }
        }
        failed.map_or(Ok(()), Err)
    })
}
