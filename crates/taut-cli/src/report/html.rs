//! `report.html`: one file without any reference to another.

mod sections;
mod tables;

use std::fmt::Write;

use super::model::RunReport;
use super::svg::Escaped;
use super::units::utc_text;

const STYLE: &str = include_str!("html/page.css");

/// The page.
pub fn html(report: &RunReport) -> String {
    let title = format!("taut: {} run, {:.1} s", report.mode, report.seconds);
    let mut page = String::with_capacity(128 * 1024);
    let _ = write!(
        page,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n\
         <header>\n<p class=\"kicker\">taut · tick to trade</p>\n\
         <h1>{mode} mode, {seconds:.1} seconds</h1>\n\
         <p class=\"meta\"><time>{started}</time> · {machine}</p>\n\
         <pre class=\"command\"><code>{command}</code></pre>\n</header>\n",
        title = Escaped(&title),
        mode = Escaped(&capitalised(&report.mode)),
        seconds = report.seconds,
        started = utc_text(report.started_utc_ns),
        machine = Escaped(&report.machine.cpu),
        command = Escaped(&report.command_line),
    );
    sections::key_figures(&mut page, report);
    sections::percentile_curve(&mut page, report);
    sections::stage_breakdown(&mut page, report);
    sections::over_time(&mut page, report);
    sections::counts(&mut page, report);
    sections::conditions(&mut page, report);
    page.push_str("</main>\n</body>\n</html>\n");
    page
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_uppercase().collect::<String>() + letters.as_str()
    })
}
