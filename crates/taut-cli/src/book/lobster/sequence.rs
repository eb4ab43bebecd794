//! A truth with another window than the messages: compared by content.
//!
//! Both sides become sequences of distinct states (one that repeats the state before is left out);
//! ours takes the state after the last event of each row, from the engine that the flow runs
//! through. They are aligned by their longest common subsequence, and each state of the truth that
//! is left over is looked at again.

use std::collections::HashMap;

use taut_book::OrderBook;
use taut_engine::{Command, Engine, EngineConfig};
use taut_recording::align::{EDITS_MAX, Gap, align};
use taut_recording::lobster::{
    FlowEvent, LobsterFlow, Orderbook, UNIT, levels_of, show_row, state_of,
};
use taut_types::{OrderId, Side};

use crate::book::verdict::{Mismatch, UNEXPLAINED, Verdict};
use crate::exit::Failure;

/// An order of ours has left the market outside the window of the messages, unseen.
const DEPARTED: &str = "departure_outside_the_window";

/// A distinct state and the line where it begins.
struct States<T> {
    states: Vec<T>,
    lines: Vec<usize>,
}

impl<T: PartialEq> States<T> {
    const fn new() -> Self {
        Self { states: Vec::new(), lines: Vec::new() }
    }

    fn push(&mut self, line: usize, state: T) {
        if self.states.last() != Some(&state) {
            self.states.push(state);
            self.lines.push(line);
        }
    }

    /// The line of a state, or the last line for what is behind the end.
    fn line(&self, at: usize) -> usize {
        self.lines.get(at).or(self.lines.last()).copied().unwrap_or(0)
    }
}

/// Compares the states that both files cover.
pub(super) fn compare(flow: &LobsterFlow, truth: &Orderbook) -> Result<Verdict, Failure> {
    let level_count = truth.level_count();
    let mut ours = States::new();
    replay(flow, &mut |line, book| ours.push(line, state_of(book, level_count, UNIT)));
    // Until both sides have orders there is nothing to compare: the truth begins with both.
    let starts = ours.states.iter().position(|s| s[1] > 0 && s[3] > 0).unwrap_or(0);
    ours.states.drain(..starts);
    ours.lines.drain(..starts);
    let mut theirs = States::new();
    (1..).zip(truth.rows()).for_each(|(line, row)| theirs.push(line, row.to_vec()));

    let gaps = align(&ours.states, &theirs.states).ok_or_else(|| {
        let what = "the messages and the truth differ in more than";
        Failure::Usage(format!("{what} {EDITS_MAX} states: they are not of the same market"))
    })?;
    let mut verdict = Verdict::new("distinct states");
    let skipped: usize = gaps.iter().map(|gap| gap.ours.len()).sum();
    for _ in skipped..ours.states.len() {
        verdict.equal();
    }
    for (gap, explained) in explain(flow, &ours, &theirs, &gaps) {
        let of_ours = ours.states.get(gap.ours.start).map_or(&[][..], Vec::as_slice);
        // A gap without a state of the truth is a difference too: the truth lacks one.
        for at in gap.truth.start..gap.truth.end.max(gap.truth.start + 1) {
            let row = theirs.states.get(at).map_or(&[][..], Vec::as_slice);
            let departed = explained.get(at - gap.truth.start) == Some(&true);
            verdict.mismatch(Mismatch {
                line: theirs.line(at),
                reason: if departed { DEPARTED } else { UNEXPLAINED },
                truth: show_row(row, of_ours),
                book: show_row(of_ours, row),
            });
        }
    }
    Ok(verdict)
}

/// For each gap, which of the truth's states in it are ours at that time without orders that no
/// later row names.
fn explain(
    flow: &LobsterFlow,
    ours: &States<Vec<i64>>,
    theirs: &States<Vec<i64>>,
    gaps: &[Gap],
) -> Vec<(Gap, Vec<bool>)> {
    let last_lines = last_lines(flow);
    let mut explained: Vec<_> =
        gaps.iter().map(|gap| (gap.clone(), vec![false; gap.truth.len()])).collect();
    let mut first = 0;
    replay(flow, &mut |line, book| {
        for (gap, found) in explained.get_mut(first..).unwrap_or_default() {
            // From the last state that both have to the next one that both have.
            if line < ours.line(gap.ours.start.saturating_sub(1)) {
                break;
            }
            for (at, found) in gap.truth.clone().zip(found) {
                *found = *found
                    || theirs
                        .states
                        .get(at)
                        .is_some_and(|row| agrees(book, row, line, &last_lines));
            }
        }
        while gaps.get(first).is_some_and(|gap| line > ours.line(gap.ours.end)) {
            first += 1;
        }
    });
    explained
}

/// The last line that names each order.
fn last_lines(flow: &LobsterFlow) -> HashMap<OrderId, usize> {
    let mut last_lines = HashMap::new();
    for event in flow.events() {
        let order_id = match event.event {
            FlowEvent::Command(Command::New(order)) => order.order_id,
            FlowEvent::Command(Command::Cancel { order_id } | Command::Reduce { order_id, .. }) => {
                order_id
            }
            _ => continue,
        };
        last_lines.insert(order_id, event.line);
    }
    last_lines
}

/// Whether the row is what the book shows without orders that no later row names: levels of ours
/// that the row has not consist of such orders, and the others have their size with or without
/// them.
fn agrees(book: &OrderBook, row: &[i64], line: usize, last: &HashMap<OrderId, usize>) -> bool {
    Side::BOTH.into_iter().all(|side| {
        let mut levels = book.levels(side);
        levels_of(row, side).all(|(price, size)| {
            levels.find_map(|level| {
                let orders = book.orders_at(side, level.price);
                let unseen: i64 = orders
                    .filter(|order| last.get(&order.id).is_none_or(|&last| last <= line))
                    .map(|order| order.lots.0)
                    .sum();
                let seen = level.lots.0 - unseen;
                let same_price = level.price.0.checked_mul(UNIT) == Some(price.0);
                let fits = same_price && (size == level.lots.0 || size == seen);
                (fits || seen > 0).then_some(fits)
            }) == Some(true)
        })
    })
}

/// Runs the flow through an engine; the visitor sees the book after each row.
fn replay(flow: &LobsterFlow, visit: &mut dyn FnMut(usize, &OrderBook)) {
    let summary = flow.summary();
    let order_capacity = summary.adds + summary.initial_orders + summary.late_orders + 16;
    let mut engine = Engine::new(EngineConfig {
        order_capacity: order_capacity.next_power_of_two(),
        level_capacity: order_capacity.next_power_of_two().min(1 << 16),
    });
    // What the engine answers shows in the book.
    for &order in flow.initial_orders() {
        engine.execute(Command::New(order), &mut |_| {});
    }
    let mut events = flow.events().iter().peekable();
    while let Some(event) = events.next() {
        if let FlowEvent::Command(command) = event.event {
            engine.execute(command, &mut |_| {});
        }
        if events.peek().is_none_or(|next| next.line != event.line) {
            visit(event.line, engine.book());
        }
    }
}
