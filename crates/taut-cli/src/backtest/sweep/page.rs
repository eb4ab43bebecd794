//! The results of a sweep as tables, and as a page with a picture of each pair of keys.

use maud::{Markup, html};
use taut_report::page::{Table, page};
use taut_report::plain;

use super::results::{OneResult, Results};

/// Rows of the page's table.
const ROWS: usize = 200;
/// Pictures of pairs, and rows or columns of one.
const PAIRS: usize = 10;
const CELLS: usize = 60;

/// What is told of each run, beside the figure that was asked for.
const FIGURES: [(&str, &str); 7] = [
    ("profit", "profit"),
    ("fees", "fees"),
    ("drawdown_max", "drawdown"),
    ("sharpe", "Sharpe"),
    ("turnover", "turnover"),
    ("orders.sent", "orders"),
    ("fills.count", "trades"),
];

/// Results as a table of text: number, values, figures.
pub fn table(results: &Results, rows: &[&OneResult], by: &str) -> Lines {
    let keys = &results.head().keys;
    let more = FIGURES.iter().all(|(key, _)| *key != by).then_some((by, by));
    let figures: Vec<_> = FIGURES.iter().copied().chain(more).collect();
    let names = keys.iter().map(String::as_str).chain(figures.iter().map(|(_, name)| *name));
    let heads = std::iter::once("run").chain(names).map(str::to_owned).collect();
    let row = |it: &&OneResult| {
        let values = (0..keys.len()).map(|at| it.value(at));
        let told = figures.iter().map(|(key, _)| figure(it.figure(key)));
        std::iter::once(it.number.to_string()).chain(values).chain(told).collect()
    };
    Lines { heads, rows: rows.iter().map(row).collect() }
}

/// A table whose headings are made.
pub struct Lines {
    heads: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Lines {
    fn with<T>(&self, what: impl FnOnce(Table<'_>) -> T) -> T {
        let heads: Vec<_> = self.heads.iter().map(String::as_str).collect();
        what(Table { heads: &heads, rows: self.rows.clone() })
    }

    pub fn markdown(&self) -> String {
        self.with(|table| table.markdown())
    }

    fn html(&self) -> Markup {
        self.with(|table| table.html())
    }
}

fn figure(value: Option<f64>) -> String {
    value.map_or("–".to_owned(), plain)
}

/// The page: a picture of each pair of keys, and the best.
pub fn html(results: &Results, by: &str, lowest: bool) -> String {
    let best = results.best(by, lowest);
    let shown = best.get(..ROWS.min(best.len())).unwrap_or_default();
    let head = results.head();
    let keys = head.keys.len();
    let pairs = (0..keys).flat_map(|one| (one + 1..keys).map(move |other| (one, other)));
    let pictures: Vec<_> =
        pairs.take(PAIRS).filter_map(|pair| picture(results, pair, by, lowest)).collect();
    let order = if lowest { "lowest" } else { "highest" };
    let body = html! {
        header {
            p.kicker { "taut backtest sweep" }
            h1 { (head.strategy) ": " (head.points) " runs over the same recordings" }
            p.meta { "sweep " (head.identity.get(..16).unwrap_or_default()) }
        }
        @for picture in &pictures { (picture) }
        section {
            h2 { "The " (order) " " (by) }
            (table(results, shown, by).html())
            @if best.len() > shown.len() {
                p.note { "The first " (shown.len()) " of " (best.len()) "; sweep.jsonl has all." }
            }
        }
        p.note {
            "The best of many runs over one recording is good by chance, too: look whether its \
             neighbours are, and run it over another recording."
        }
    };
    page("taut backtest sweep", &body)
}

/// The mean figure for each pair of values of two keys, over all values of the others. None where
/// there is one row or column alone, or too many.
fn picture(
    results: &Results,
    (across, down): (usize, usize),
    by: &str,
    lowest: bool,
) -> Option<Markup> {
    let values = |key: usize| {
        let mut all: Vec<String> = Vec::new();
        for it in results.all() {
            let value = it.value(key);
            if !all.contains(&value) {
                all.push(value);
            }
        }
        all
    };
    let (columns, rows) = (values(across), values(down));
    let is_good = |count: usize| (2..=CELLS).contains(&count);
    if !is_good(columns.len()) || !is_good(rows.len()) {
        return None;
    }
    let mean = |row: &String, column: &String| {
        let cell = results.all().filter(|it| it.value(across) == *column && it.value(down) == *row);
        let (count, sum) = cell
            .filter_map(|it| it.figure(by))
            .fold((0_u32, 0.0), |(count, sum), it| (count + 1, sum + it));
        (count > 0).then(|| sum / f64::from(count))
    };
    let cells: Vec<Vec<_>> =
        rows.iter().map(|row| columns.iter().map(|column| mean(row, column)).collect()).collect();
    let known = || cells.iter().flatten().flatten().copied();
    let (low, high) = (known().fold(f64::MAX, f64::min), known().fold(f64::MIN, f64::max));
    let shade = |value: f64| {
        let part = if high > low { (value - low) / (high - low) } else { 0.5 };
        let part = if lowest { 1.0 - part } else { part };
        format!("background: rgb(38 132 84 / {:.0}%)", 5.0 + 65.0 * part)
    };
    let keys = &results.head().keys;
    let (across, down) = (keys.get(across)?, keys.get(down)?);
    Some(html! {
        section {
            h2 { "Mean " (by) " by " (across) " and " (down) }
            div.scroll {
                table.numbers {
                    thead { tr {
                        th scope="col" { (down) " \\ " (across) }
                        @for column in &columns { th scope="col" { (column) } }
                    } }
                    tbody {
                        @for (row, cells) in rows.iter().zip(&cells) {
                            tr {
                                th scope="row" { (row) }
                                @for cell in cells {
                                    @match cell {
                                        Some(value) => td style=(shade(*value)) { (plain(*value)) },
                                        None => td { "–" },
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    })
}
