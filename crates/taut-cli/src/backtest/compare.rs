//! `taut backtest compare`: two results side by side.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use maud::html;
use serde::Serialize;
use serde_json::Value;
use taut_report::page::{Table, page};
use taut_report::plain;
use taut_report::trace::Trace;

use crate::exit::Failure;
use crate::recorded::Output;
use crate::terminal;

/// Two results side by side: figures, their differences, and the first trade that differs.
///
/// Both are directories of `taut backtest --out`. Figures and trades are compared as they are
/// written, so that equal results have no difference at all.
#[derive(Args, Clone, Debug)]
pub struct Arguments {
    /// The directory of one result
    a: PathBuf,
    /// The directory of the other one
    b: PathBuf,
    /// Write a page with both values over time to this file
    #[arg(short, long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Replace the file if it is there
    #[arg(short, long, requires = "out")]
    force: bool,
    /// Print one line of JSON
    #[arg(long)]
    json: bool,
}

/// A result as its directory has it.
struct Run {
    name: String,
    json: Value,
    equity: String,
    fills: String,
}

/// A figure of both.
#[derive(Serialize)]
struct Figure {
    name: String,
    a: Option<f64>,
    b: Option<f64>,
    difference: Option<f64>,
}

/// The first trade that is not the same.
#[derive(Serialize)]
struct OtherFill<'a> {
    /// Its number among the trades, from 1.
    number: usize,
    a: Option<&'a str>,
    b: Option<&'a str>,
}

/// What is told. The order of the fields is the order of the keys.
#[derive(Serialize)]
struct Comparison<'a> {
    a: &'a str,
    b: &'a str,
    is_same: bool,
    figures: &'a [Figure],
    first_fill_that_differs: Option<&'a OtherFill<'a>>,
}

/// Runs it.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let (a, b) = (Run::read(&arguments.a)?, Run::read(&arguments.b)?);
    let output = arguments.out.as_deref().map(|out| Output::new(out, arguments.force, &[]));
    let output = output.transpose()?;
    let figures = figures(&a, &b);
    let fill = other_fill(&a, &b);
    let is_same = a.json == b.json && a.fills == b.fills && a.equity == b.equity;
    if let Some(output) = output {
        let mut file = output.create()?;
        let written = file.write_all(html(&a, &b, &figures, fill.as_ref()).as_bytes());
        written.map_err(|error| Failure::run(&output.name(), error))?;
        output.finish(file)?;
        terminal::tell(format_args!("page: {}", output.name()));
    }
    if arguments.json {
        return terminal::print_json(&Comparison {
            a: &a.name,
            b: &b.name,
            is_same,
            figures: &figures,
            first_fill_that_differs: fill.as_ref(),
        });
    }
    let heads = ["figure", &a.name, &b.name, "difference"];
    terminal::print(Table { heads: &heads, rows: rows(&figures) }.markdown())?;
    let trades = match (&fill, is_same) {
        (None, true) => "both are the same".to_owned(),
        (None, false) => "all trades are the same".to_owned(),
        (Some(fill), _) => {
            let of = |fill: Option<&str>| fill.unwrap_or("none").to_owned();
            let columns = a.fills.lines().next().unwrap_or_default();
            let (number, one, other) = (fill.number, of(fill.a), of(fill.b));
            format!("trade {number} is the first that differs\n{columns}\n{one}\n{other}")
        }
    };
    terminal::print(format!("\n{trades}"))
}

impl Run {
    fn read(folder: &Path) -> Result<Self, Failure> {
        let read = |name: &str| {
            let path = folder.join(name);
            fs::read_to_string(&path).map_err(|error| {
                Failure::Usage(format!(
                    "{}: {error}; name a directory that `taut backtest --out` wrote",
                    path.display()
                ))
            })
        };
        let json = serde_json::from_str(&read("backtest.json")?).map_err(|error| {
            let name = folder.join("backtest.json");
            Failure::Usage(format!("{}: it is no report ({error})", name.display()))
        })?;
        let name = folder.display().to_string();
        Ok(Self { name, json, equity: read("equity.csv")?, fills: read("fills.csv")? })
    }

    /// Its value over time: nanoseconds, money.
    fn value(&self) -> Vec<(i64, f64)> {
        let point = |line: &str| {
            let mut fields = line.split(',');
            Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
        };
        self.equity.lines().skip(1).filter_map(point).collect()
    }
}

/// The numbers of both reports, in the order in which they stand in the first.
fn figures(a: &Run, b: &Run) -> Vec<Figure> {
    let (mut one, mut other) = (Vec::new(), Vec::new());
    numbers(&a.json, "", &mut one);
    numbers(&b.json, "", &mut other);
    let more = other.iter().filter(|(name, _)| one.iter().all(|it| it.0 != *name));
    let names: Vec<_> = one.iter().chain(more).map(|it| it.0.clone()).collect();
    let of = |all: &[(String, Option<f64>)], name: &str| {
        all.iter().find(|it| it.0 == name).and_then(|it| it.1)
    };
    let figure = |name: String| {
        let (a, b) = (of(&one, &name), of(&other, &name));
        let difference = a.zip(b).map(|(a, b)| b - a);
        Figure { name, a, b, difference }
    };
    names.into_iter().map(figure).collect()
}

/// Of lists the elements are named: instruments by their symbol, mark-outs by their time.
fn numbers(value: &Value, name: &str, found: &mut Vec<(String, Option<f64>)>) {
    let below = |key: &str| if name.is_empty() { key.to_owned() } else { format!("{name}.{key}") };
    match value {
        Value::Object(keys) => {
            for (key, value) in keys {
                // What is the same clock in both is no figure.
                if !matches!(key.as_str(), "start_utc_ns" | "end_utc_ns" | "after_ns") {
                    numbers(value, &below(key), found);
                }
            }
        }
        Value::Array(all) => {
            for (at, value) in all.iter().enumerate() {
                let own = match (&value["symbol"], value["after_ns"].as_u64()) {
                    (Value::String(symbol), _) => symbol.clone(),
                    (_, Some(after)) => taut_report::human_ns(after),
                    _ => at.to_string(),
                };
                numbers(value, &below(&own), found);
            }
        }
        Value::Number(number) => found.push((name.to_owned(), number.as_f64())),
        Value::Null => found.push((name.to_owned(), None)),
        Value::String(text) if name.ends_with(".position") => {
            found.push((name.to_owned(), text.parse().ok()));
        }
        _ => {}
    }
}

fn other_fill<'r>(a: &'r Run, b: &'r Run) -> Option<OtherFill<'r>> {
    let (mut one, mut other) = (a.fills.lines().skip(1), b.fills.lines().skip(1));
    for number in 1.. {
        match (one.next(), other.next()) {
            (None, None) => break,
            (a, b) if a != b => return Some(OtherFill { number, a, b }),
            _ => {}
        }
    }
    None
}

fn rows(figures: &[Figure]) -> Vec<Vec<String>> {
    let told = |value: Option<f64>| value.map_or("–".to_owned(), plain);
    let row = |it: &Figure| {
        let difference = it.difference.filter(|it| *it != 0.0);
        vec![
            it.name.clone(),
            told(it.a),
            told(it.b),
            difference.map_or(String::new(), |it| format!("{}{}", sign(it), plain(it.abs()))),
        ]
    };
    figures.iter().map(row).collect()
}

const fn sign(value: f64) -> char {
    if value < 0.0 { '-' } else { '+' }
}

fn html(a: &Run, b: &Run, figures: &[Figure], fill: Option<&OtherFill<'_>>) -> String {
    let (one, other) = (a.value(), b.value());
    let start = one.iter().chain(&other).map(|it| it.0).min().unwrap_or(0);
    let line = |points: Vec<(i64, f64)>| {
        points.into_iter().map(|(at, it)| ((at - start) as f64 / 1e9, it)).collect()
    };
    let equity = Trace {
        id: "equity",
        title: "Profit after fees",
        over: "seconds since the start",
        lines: vec![("p50", &a.name, line(one)), ("p99", &b.name, line(other))],
    };
    let heads = ["figure", &a.name, &b.name, "difference"];
    let body = html! {
        header {
            p.kicker { "taut backtest compare" }
            h1 { (a.name) " and " (b.name) }
        }
        (equity.section())
        section { h2 { "Figures" } (Table { heads: &heads, rows: rows(figures) }.html()) }
        section {
            h2 { "The first trade that differs" }
            @match fill {
                None => p { "All trades are the same." },
                Some(fill) => {
                    p { "Trade " (fill.number) "." }
                    @for (name, line) in [(&a.name, fill.a), (&b.name, fill.b)] {
                        p.note { (name) ": " code { (line.unwrap_or("none")) } }
                    }
                    p.note { (a.fills.lines().next().unwrap_or_default()) }
                },
            }
        }
    };
    page("taut backtest compare", &body)
}
