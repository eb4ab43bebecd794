//! From what was counted and recorded to the report.

use taut_runner::service::PositionLine;
use taut_runner::{End, FailOver, Mode, Outcome, Process, Role};
use taut_sys::{StopSignal, Wait};
use taut_types::Nanos;

use crate::demo::plan::Plan;
use crate::exit::Failure;
use crate::report::{self, Conditions, Counts, Interval, Machine, Placement, Position, RunReport};
use crate::terminal::{print, tell};

/// A share of the time that shows in the percentiles of the report.
const CPU_TAKEN_PERCENT: f64 = 0.1;

/// Writes the report and prints the table, or the JSON line: then the table is on standard error.
pub fn publish(
    plan: &Plan,
    ended: Outcome,
    conditions: Conditions,
    intervals: Vec<Interval>,
) -> Result<(), Failure> {
    let out = report::run::directory::choose(plan.arguments.out.as_deref(), ended.started_utc);
    let trace = plan
        .trace
        .as_ref()
        .map(|output| (output, report::perfetto(&ended.outliers, &ended.outlier_trace)));
    let report = report_of(plan, ended, conditions, intervals);
    let html = report::write_all(&out, &report)
        .map_err(|error| Failure::run(&format!("report in {}", out.display()), error))?;
    let mut text = format!("{}\nreport: {}", report::table(&report), html.display());
    if let Some((output, trace)) = trace {
        output.write(trace.as_bytes())?;
        text += &format!("\ntrace: {} (open it at ui.perfetto.dev)", output.name());
    }
    let printed = if plan.arguments.json {
        tell(text);
        print(report::json_line(&report, &html))
    } else {
        print(text)
    };
    verdict(&report.counts)?;
    printed.map_err(|error| {
        Failure::run("standard output", format!("{error}; the report is {}", html.display()))
    })
}

fn report_of(
    plan: &Plan,
    ended: Outcome,
    conditions: Conditions,
    intervals: Vec<Interval>,
) -> RunReport {
    let counts = counts(&ended);
    RunReport {
        mode: ended.mode.name().to_owned(),
        seconds: ended.elapsed.0 as f64 / 1e9,
        started_utc_ns: ended.started_utc.0,
        command_line: command_line(),
        positions: ended.holdings.positions.iter().map(position).collect(),
        profit: ended.holdings.profit.clone(),
        placement: ended.processes.iter().map(|process| place(process, ended.mode)).collect(),
        clock: clock_text(&ended),
        machine: Machine::read(),
        conditions: taken(&ended).into_iter().fold(conditions, Conditions::and_because),
        notes: notes(plan, &ended, counts.lost),
        counts,
        path: ended.path,
        order_round_trip: ended.round_trip,
        bare_send: ended.bare_send,
        outliers: ended.outliers,
        intervals,
    }
}

fn notes(plan: &Plan, ended: &Outcome, lost: u64) -> Vec<String> {
    let (market_data, orders) = (&ended.feed, &ended.orders);
    let mut notes = vec![
        plan.source.clone(),
        format!("market data: {market_data}"),
        format!("orders: {orders}"),
    ];
    notes.extend(ended.fail_over.as_ref().map(fail_over_text));
    if lost > 0 {
        notes.push(format!("{lost} packets were lost: neither received nor covered by a snapshot"));
    }
    if !ended.drained {
        notes.push("open orders were not all answered in time".to_owned());
    }
    match ended.end {
        End::Signal(signal) => notes.push(format!("ended early by {}", signal_name(signal))),
        End::ChildSignal(role) => {
            notes.push(format!("ended early: the {} got a signal", role.name()));
        }
        _ => {}
    }
    notes
}

fn fail_over_text(FailOver { venue, orders, .. }: &FailOver) -> String {
    let ms = |span: Nanos| format!("{:.1} ms", span.0 as f64 / 1e6);
    let orders = match orders {
        Some(orders) => format!("the next order was acknowledged after {}", ms(*orders)),
        None => "no order was acknowledged within two seconds".to_owned(),
    };
    format!("the venue was killed; its standby took its place after {}, {orders}", ms(*venue))
}

/// What others took from the threads that wanted a CPU for themselves: it is in their times.
fn taken(ended: &Outcome) -> Vec<String> {
    let spinning = ended.processes.iter().filter(|it| it.place.wait == Wait::Spin);
    let taken = spinning.filter_map(|process| {
        let percent = process.cpu_times?.waited_percent();
        let name = process.role.name();
        (percent >= CPU_TAKEN_PERCENT)
            .then(|| format!("another task had the {name}'s CPU {percent:.1}% of the time"))
    });
    taken.collect()
}

const fn signal_name(signal: StopSignal) -> &'static str {
    match signal {
        StopSignal::Terminate => "SIGTERM",
        StopSignal::HangUp => "SIGHUP",
        StopSignal::Interrupt => "SIGINT",
    }
}

fn counts(ended: &Outcome) -> Counts {
    let gateway = &ended.gateway;
    let venue = ended.venue.as_ref();
    let mut extras: Vec<(String, u64)> = [
        ("packets of line A", gateway.line_a),
        ("first by line A", gateway.line_a_first),
        ("packets of line B", gateway.line_b),
        ("first by line B", gateway.line_b_first),
        ("gaps", gateway.gaps),
        ("requests for packets", gateway.retransmit_requests),
        ("first by retransmission", gateway.retransmitted),
        ("snapshots loaded", gateway.snapshots),
        ("malformed packets", gateway.malformed),
        ("receive calls that failed", gateway.receive_errors),
        ("reports sent again", gateway.repeated_reports),
        ("bid levels at the end", gateway.bid_levels),
        ("offer levels at the end", gateway.ask_levels),
        ("requests refused", gateway.refused),
        ("orders expired", gateway.expired),
        ("bare sends", ended.bare_send.summary().count),
    ]
    .map(|(name, count)| (name.to_owned(), count))
    .to_vec();
    if ended.mode == Mode::Split {
        extras.push(("market events seen by the strategy".to_owned(), ended.strategy.events));
        extras.push(("market events it was too slow for".to_owned(), ended.strategy.lapped));
    }
    if let Some(FailOver { venue, orders, .. }) = ended.fail_over {
        let us = |span: Nanos| span.0.unsigned_abs() / 1_000;
        extras.push(("standby took over after us".to_owned(), us(venue)));
        let orders = orders.map_or(0, us);
        extras.push(("orders acknowledged again after us".to_owned(), orders));
    }
    let counters = venue.iter().flat_map(|venue| &venue.counters);
    extras.extend(counters.map(|(name, count)| (format!("venue: {name}"), *count)));
    Counts {
        published: venue.map_or(0, |venue| venue.published),
        ticks: gateway.ticks,
        recovered: gateway.recovered,
        lost: ended.lost(),
        orders: gateway.orders,
        acks: gateway.acks,
        order_rejects: gateway.order_rejects,
        risk_rejects: gateway.risk_rejects,
        fills: gateway.fills,
        cancel_requests: gateway.cancel_requests,
        cancels: gateway.cancels,
        cancel_rejects: gateway.cancel_rejects,
        // Orders that were lost are found, or told as refused, behind the next logon.
        cancels_lost: gateway.lost_requests,
        unanswered: gateway.unanswered,
        extras,
    }
}

fn clock_text(ended: &Outcome) -> String {
    let error_ns = ended.clock_error_ns_max;
    let source = if ended.clock_is_counter {
        format!(
            "time-stamp counter, mapped to CLOCK_MONOTONIC and anchored anew every 100 ms \
             (largest step {error_ns} ns)"
        )
    } else {
        "CLOCK_MONOTONIC by the vDSO (the kernel does not trust the time-stamp counter here)"
            .to_owned()
    };
    format!(
        "{source}. Tick-to-trade runs from the return of the receive call that brought the \
         packet to the return of the send call that took the order; its nine stages add up to \
         it exactly. The order round trip runs from the send call to the return of the receive \
         call that brought the first answer. The bare send is the same call with an order's \
         bytes on a second connection to the venue, every 5 ms."
    )
}

/// A run whose counts do not add up, or that lost packets, is a failed run with a report.
fn verdict(counts: &Counts) -> Result<(), Failure> {
    if let Some(broken) = counts.balances().into_iter().find(|balance| !balance.holds()) {
        return Err(Failure::Run(format!("the counts do not add up: {broken}")));
    }
    match counts {
        Counts { lost: 0, unanswered: 0, .. } => Ok(()),
        Counts { lost, unanswered, .. } => Err(Failure::Run(format!(
            "{lost} packets were lost and {unanswered} requests got no answer; the report is \
             written"
        ))),
    }
}

fn command_line() -> String {
    let words: Vec<_> =
        std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
    words.join(" ")
}

fn position(held: &PositionLine) -> Position {
    Position {
        symbol: held.symbol.clone(),
        quantity: held.quantity.clone(),
        average_price: held.average_price.clone(),
        realised: held.realised.clone(),
        unrealised: held.unrealised.clone(),
    }
}

fn place(process: &Process, mode: Mode) -> Placement {
    let fused = mode == Mode::Fused && process.role == Role::Gateway;
    let name = if fused { "gateway and strategy" } else { process.role.name() };
    Placement {
        process: name.to_owned(),
        cpu: process.place.cpu.to_string(),
        wait: process.place.wait.name().to_owned(),
        waited_percent: process
            .cpu_times
            .map(|times| (times.waited_percent() * 10.0).round() / 10.0),
        nice: process.nice.map_or_else(|| "not known".to_owned(), |nice| nice.to_string()),
    }
}
