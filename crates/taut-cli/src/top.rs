//! `taut top`: every gateway of this user on one screen, while it trades.

mod app;
mod detail;
mod json;
mod keys;
mod overview;
mod sheet;
mod sort;
#[cfg(test)]
mod tests;
mod view;

use std::io::{self, IsTerminal};
use std::time::Duration;

use clap::Args;
use crossterm::event::{self, Event};
use ratatui::Terminal;
use ratatui::backend::{CrosstermBackend, TestBackend};
use ratatui::layout::Rect;
use taut_runner::service::{ControlClient, ControlReply, ControlRequest, ScopeName};
use taut_sys::{monotonic, stop_requests};
use taut_types::Nanos;

use crate::exit::{Failure, catch_stop_signals};
use crate::observed::{Extent, Observed, PATIENCE};
use crate::terminal;
use app::{App, Wish};
use keys::wish;

/// Watch every gateway of this user on one screen: rates, times, books, orders, warnings.
///
/// Read from shared memory, so that a gateway that spins makes no system call for it; what is in no
/// shared memory (orders, positions, connections) is asked for once in each interval. `?` shows the
/// keys. `k` is the kill switch, behind a confirmation. Every page: docs/top.md.
#[derive(Args, Clone, Debug)]
pub struct Arguments {
    /// A gateway's name, or the path of its control socket; may be given several times [default:
    /// every gateway of this user]
    #[arg(long, value_name = "NAME")]
    gateway: Vec<String>,
    /// How often it looks, in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 500,
          value_parser = clap::value_parser!(u32).range(100..=60_000))]
    interval: u32,
    /// Print one frame as text and end
    #[arg(long)]
    once: bool,
    /// Print all that was seen as one line of JSON, in the place of a frame
    #[arg(long, requires = "once", conflicts_with_all = ["page", "size"])]
    json: bool,
    /// The page of the gateway that `--once` prints [default: the overview]
    #[arg(long, value_name = "PAGE", value_enum, requires = "once")]
    page: Option<app::Tab>,
    /// How large the frame of `--once` is
    #[arg(long, value_name = "COLUMNSxROWS", default_value = "80x24", value_parser = size,
          requires = "once")]
    size: (u16, u16),
}

/// A frame's size in words.
fn size(text: &str) -> Result<(u16, u16), String> {
    let wrong = || "columns and rows, such as 80x24, of 40x10 to 500x500".to_owned();
    let (columns, rows) = text.split_once('x').ok_or_else(wrong)?;
    let within = |text: &str, least: u16| {
        text.parse::<u16>().ok().filter(|number| (least..=500).contains(number)).ok_or_else(wrong)
    };
    Ok((within(columns, 40)?, within(rows, 10)?))
}

/// How often keys and signals are looked at, where nothing happens.
const LOOK: Nanos = Nanos::from_millis(50);

/// Watches.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let mut observed = Observed::new(&arguments.gateway, Extent::All);
    let mut app = App::new(std::env::var_os("NO_COLOR").is_none_or(|it| it.is_empty()));
    if arguments.once {
        return once(arguments, &mut observed, app);
    }
    if !io::stdout().is_terminal() {
        let remedy = "`--once` prints one frame as text";
        return Err(Failure::Usage(format!("standard output is no terminal: {remedy}")));
    }
    catch_stop_signals()?;
    let interval = Nanos::from_millis(arguments.interval.into());
    let screen = Screen::enter()?;
    end_with_the_terminal();
    let watched = watch(&mut observed, &mut app, interval);
    drop(screen);
    watched
}

/// Ends the process when its terminal is gone. Who waits for a key of such a terminal is not told:
/// the library below reads no byte from it, without an error, again and again.
fn end_with_the_terminal() {
    let watch = || {
        while io::stdout().is_terminal() {
            // PACE: nobody is told that a terminal is gone but who asks.
            taut_sys::sleep(Nanos::from_secs(1));
        }
        // There is nothing left that could be put in order.
        std::process::exit(1);
    };
    // Where no thread can be had, the signal of the terminal's end is enough most of the time.
    let _ = std::thread::Builder::new().name("terminal".to_owned()).spawn(watch);
}

/// One frame. It looks twice, so that there are rates.
fn once(arguments: &Arguments, observed: &mut Observed, mut app: App) -> Result<(), Failure> {
    observed.look_patiently();
    app.see(observed.snapshot());
    if observed.seen().next().is_none() {
        return Err(Failure::Run(
            "no gateway of this user runs; `--gateway` takes a name or the path of a control \
             socket"
                .to_owned(),
        ));
    }
    if let Some(tab) = arguments.page {
        app.open(tab);
        follow(observed, &app);
    }
    let interval = Nanos::from_millis(i64::from(arguments.interval).min(1_000));
    // PACE: a rate is that of a time.
    taut_sys::sleep(interval);
    observed.look_patiently();
    app.see(observed.snapshot());
    if arguments.json {
        let told = json::told(&app.snapshot).map_err(|error| Failure::run("JSON", error))?;
        return terminal::print(told);
    }
    let (columns, rows) = arguments.size;
    let frame = frame(&mut app, columns, rows);
    terminal::print(frame.join("\n"))
}

/// A frame as lines of text.
fn frame(app: &mut App, columns: u16, rows: u16) -> Vec<String> {
    let mut terminal = match Terminal::new(TestBackend::new(columns, rows)) {
        Ok(terminal) => terminal,
        Err(never) => match never {},
    };
    let drawn = terminal.draw(|frame| view::draw(app, frame.area(), frame.buffer_mut()));
    let Ok(drawn) = drawn;
    let area: Rect = drawn.area;
    let line = |row: u16| {
        let cells = (0..area.width).filter_map(|column| drawn.buffer.cell((column, row)));
        let text: String = cells.map(|cell| cell.symbol()).collect();
        text.trim_end().to_owned()
    };
    (0..area.height).map(line).collect()
}

fn watch(observed: &mut Observed, app: &mut App, interval: Nanos) -> Result<(), Failure> {
    let failed = |error: io::Error| Failure::run("the terminal", error);
    let mut terminal = Terminal::new(CrosstermBackend::new(io::stdout())).map_err(failed)?;
    let mut due = Nanos::ZERO;
    let mut is_changed = true;
    while stop_requests() == 0 {
        let now = monotonic();
        if now >= due {
            due = now + interval;
            observed.look();
            app.see(observed.snapshot());
            is_changed = true;
        }
        if is_changed {
            let drawn = terminal.draw(|frame| view::draw(app, frame.area(), frame.buffer_mut()));
            drawn.map_err(failed)?;
            is_changed = false;
        }
        let left = due.since(monotonic()).0.clamp(0, LOOK.0).unsigned_abs();
        if !event::poll(Duration::from_nanos(left)).map_err(failed)? {
            continue;
        }
        is_changed = true;
        let Event::Key(key) = event::read().map_err(failed)? else { continue };
        match app.on_key(wish(&key)) {
            Wish::Nothing => {}
            Wish::Quit => return Ok(()),
            Wish::Follow => follow(observed, app),
            Wish::Kill(name) => {
                app.say(kill(&name));
                due = Nanos::ZERO;
            }
        }
    }
    Ok(())
}

/// Has the books followed that are shown.
fn follow(observed: &mut Observed, app: &App) {
    if let Some((gateway, symbols)) = app.wanted_books() {
        observed.follow(&gateway, &symbols);
    }
}

/// Kills everything that trades at a gateway; what came of it.
fn kill(name: &str) -> String {
    let asked = ControlClient::connect(name).and_then(|mut client| {
        client.set_patience(PATIENCE + PATIENCE);
        client.ask(&ControlRequest::Kill { scope: ScopeName::All })
    });
    match asked {
        Ok(ControlReply::Done) => {
            format!("{name} is killed: `taut gateway revive --gateway {name}` lets orders pass")
        }
        Ok(other) => format!("{name} answered {other:?}"),
        Err(error) => format!("{error}. SIGUSR1 to its process kills, too"),
    }
}

/// The terminal as this program has it; dropped, it is as it was.
struct Screen;

impl Screen {
    fn enter() -> Result<Self, Failure> {
        let failed = |error: io::Error| Failure::run("the terminal", error);
        crossterm::terminal::enable_raw_mode().map_err(failed)?;
        // From here on what is begun is ended, also when the next step fails.
        let screen = Self;
        let mut out = io::stdout();
        crossterm::execute!(
            out,
            crossterm::terminal::EnterAlternateScreen,
            crossterm::cursor::Hide
        )
        .map_err(failed)?;
        Ok(screen)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // Nobody may look any more.
        let mut out = io::stdout();
        let _ = crossterm::execute!(
            out,
            crossterm::cursor::Show,
            crossterm::terminal::LeaveAlternateScreen
        );
        let _ = crossterm::terminal::disable_raw_mode();
    }
}
