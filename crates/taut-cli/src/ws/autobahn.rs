//! `taut ws autobahn`: the client of Autobahn's fuzzing server. It asks how many cases there are,
//! plays each one as an echo, and asks for the report, which is the server's to judge.

use clap::Args;
use taut_io::{Completion, EpollKernel, EventLoop, Io, WaitStrategy};
use taut_ws::{Event, Outbox};

use crate::event_loop;
use crate::exit::Failure;
use crate::progress::Progress;
use crate::terminal::print;
use crate::ws::dial::{Asked, Dial, Options, SOURCES};

/// The arguments of `taut ws autobahn`.
#[derive(Args, Debug)]
pub struct Arguments {
    /// Where the fuzzing server listens.
    #[arg(long)]
    url: String,
    /// Our name in the report.
    #[arg(long, default_value = "taut")]
    agent: String,
    #[command(flatten)]
    options: Options,
}

/// Plays all cases.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let url = arguments.url.trim_end_matches('/');
    let mut events = event_loop::open(SOURCES)?;
    let mut words = String::new();
    let dial =
        |path: String| Dial::new(&format!("{url}/{path}"), &Asked::default(), &arguments.options);
    play(&mut events, &dial(String::from("getCaseCount"))?, &mut |_, event| {
        if let Event::Text(text) = event {
            words = (*text).to_owned();
        }
    })?;
    let count: u32 = words
        .trim()
        .parse()
        .map_err(|_| Failure::Run(format!("{url}: {words:?} is no number of cases")))?;
    let mut progress = Progress::start();
    let agent = &arguments.agent;
    for case in 1..=count {
        if taut_sys::stop_requests() > 0 {
            return Err(Failure::Run(format!("stopped after {} of {count} cases", case - 1)));
        }
        progress.tell(&format!("case {case} of {count}"));
        play(&mut events, &dial(format!("runCase?case={case}&agent={agent}"))?, &mut echo)?;
    }
    play(&mut events, &dial(format!("updateReports?agent={agent}"))?, &mut |_, _| {})?;
    print(format_args!("{count} cases played; the server's report says how"))
}

fn echo(outbox: &mut Outbox, event: &Event<'_>) {
    // What cannot be sent is missed by the server, and judged.
    let _ = match event {
        Event::Text(text) => outbox.text(text),
        Event::Binary(bytes) => outbox.binary(bytes),
        _ => Ok(()),
    };
}

/// One connection, from its begin to its end. How it ends is the server's doing.
fn play(
    events: &mut EventLoop<EpollKernel>,
    dial: &Dial,
    application: &mut impl FnMut(&mut Outbox, &Event<'_>),
) -> Result<(), Failure> {
    let mut client = dial.start(events.io())?;
    let (mut failure, mut is_up) = (None, false);
    let mut handler = |io: &mut Io<EpollKernel>, completion: Completion<'_>| {
        let mut hear = |outbox: &mut Outbox, event: Event<'_>| {
            is_up |= matches!(event, Event::Opened(_));
            application(outbox, &event);
        };
        if let Err(fault) = client.handle(io, &completion, &mut hear) {
            failure.get_or_insert(dial.failure(fault));
        }
        if client.is_over() || taut_sys::stop_requests() > 1 {
            io.stop();
        }
    };
    event_loop::run(events, &mut handler, WaitStrategy::Block)?;
    match failure {
        // Some cases cut the stream, which is how they end.
        Some(failure) if !is_up => Err(failure),
        None if !is_up => Err(Failure::Run(format!("{}: no WebSocket came about", dial.name()))),
        _ => Ok(()),
    }
}
