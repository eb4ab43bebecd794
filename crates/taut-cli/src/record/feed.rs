//! `taut record feed`: a gateway's market data and nothing else.

use std::path::PathBuf;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use clap::Args;
use taut_log::messages::Failed;
use taut_log::{Entry, Level};
use taut_runner::service::{self, GatewayFile};
use taut_sys::{ProcessSignal, monotonic, process_id, signal_process};
use taut_types::Nanos;

use crate::config_file::failure;
use crate::exit::{Failure, catch_stop_signals};
use crate::log::{Log, LogArguments};
use crate::progress::Progress;

/// From one look at the time to the next.
const LOOK: Duration = Duration::from_millis(50);

/// Record the market data of a gateway's file, until Ctrl-C or for so long.
///
/// The gateway runs on paper beside the one that trades: nobody attaches, no order is made, and no
/// key is needed where the venue's market data need none. `taut record market` makes data for a
/// backtest of the recording, `taut replay` does it again.
#[derive(Args, Debug)]
pub struct Feed {
    /// The gateway's file, such as `taut gateway sample` prints
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The folder of the recording, which is new
    #[arg(short, long, value_name = "DIR")]
    pub out: PathBuf,
    /// End after so many seconds; else at Ctrl-C
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(1..))]
    seconds: Option<u32>,
    /// Print what the recording holds as one line of JSON.
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    log: LogArguments,
}

/// Does it.
pub fn record(arguments: &Feed) -> Result<(), Failure> {
    let Feed { file, out, seconds, log, .. } = arguments;
    let file = GatewayFile::read_on_paper(file).map_err(failure)?.of_feed_alone();
    if std::fs::read_dir(out).is_ok_and(|mut entries| entries.next().is_some()) {
        let out = out.display();
        let text =
            format!("--out {out}: it is not empty; name a new folder: nothing is overwritten");
        return Err(Failure::Usage(text));
    }
    let file = file.recorded_in(out);
    file.check().map_err(failure)?;
    catch_stop_signals()?;
    let log = Log::open(log);
    let heard = |entry: &Entry| {
        // That it can be found and is on paper is nothing to say here.
        if entry.code.level != Level::Info {
            log.write(entry);
        }
    };
    let (over, is_over) = mpsc::channel::<()>();
    let span = seconds.map(|seconds| Nanos::from_secs(seconds.into()));
    let watch = thread::spawn(move || watch(&is_over, span));
    let served = service::serve(&file, heard);
    drop(over);
    watch.join().map_err(|_| Failure::Run("the watch panicked".to_owned()))?;
    served.map_err(|error| log.failure(&Failed {}, error))
}

/// Tells how long it has been recording, and ends that when it is time, as Ctrl-C does.
fn watch(is_over: &mpsc::Receiver<()>, span: Option<Nanos>) {
    let began = monotonic();
    let mut progress = Progress::start();
    let mut is_told = false;
    while is_over.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
        let now = monotonic().since(began);
        progress.tell(&format!("{} s of market data", now.0 / 1_000_000_000));
        if span.is_some_and(|span| now >= span) && !std::mem::replace(&mut is_told, true) {
            // Its own process is there.
            let _ = signal_process(process_id(), ProcessSignal::Interrupt);
        }
    }
}
