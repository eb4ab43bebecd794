//! `taut explain`: what a code or a check means, and what to do about it.

use clap::Args;
use serde_json::json;
use taut_doctor::{Check, checks};
use taut_log::messages::CODES;
use taut_log::{Code, code, codes_markdown};

use crate::exit::Failure;
use crate::terminal::{print, print_json};

/// Explain a code of a message, such as GW-0101, or a check of `taut doctor` by its name.
///
/// Without either, all of them are listed. Each says what happened, what that means and what to do.
#[derive(Args, Clone, Debug)]
pub struct Arguments {
    /// The code or the check; case does not matter
    code: Option<String>,
    /// Print one line of JSON
    #[arg(long)]
    json: bool,
    /// Print the page docs/codes.md
    #[arg(long, conflicts_with_all = ["json", "code"])]
    markdown: bool,
}

/// Prints it.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    if arguments.markdown {
        return print(codes_markdown().trim_end());
    }
    let Some(asked) = &arguments.code else { return list(arguments.json) };
    if let Some(code) = code(asked) {
        return if arguments.json { print_json(&code_json(code)) } else { print(code) };
    }
    let Some(check) = checks().find(|check| check.name.eq_ignore_ascii_case(asked)) else {
        return Err(Failure::Usage(format!(
            "'{asked}': no message has this code, and no check of `taut doctor` this name; `taut \
             explain` lists them"
        )));
    };
    if arguments.json {
        return print_json(&check_json(check));
    }
    let Check { name, group, severity, reads, wanted, why, cost, .. } = check;
    let (group, severity) = (group.name(), severity.name());
    print(format_args!(
        "{name} (a check of `taut doctor`, {group}, {severity})\n\n  reads     {reads}\n  \
         wanted    {wanted}\n  why       {why}\n  costs     {cost}\n  to do     `taut doctor` \
         says how it is here, and what mends it"
    ))
}

fn list(json: bool) -> Result<(), Failure> {
    if json {
        let codes: Vec<_> = CODES.iter().map(code_json).collect();
        let checks: Vec<_> = checks().map(check_json).collect();
        return print_json(&json!({ "codes": codes, "checks": checks }));
    }
    let codes = CODES.iter().map(|code| format!("{}  {:<8} {}", code.id, code.level, code.summary));
    let checks = checks().map(|check| format!("{:<24} {}", check.name, check.wanted));
    let lines: Vec<String> = codes.collect();
    print(format_args!("messages of a gateway or a venue\n  {}", lines.join("\n  ")))?;
    let lines: Vec<String> = checks.collect();
    print(format_args!("\nchecks of `taut doctor`\n  {}", lines.join("\n  ")))
}

fn code_json(code: &Code) -> serde_json::Value {
    let Code { id, level, summary, means, remedy, fields } = code;
    let fields: Vec<&str> = fields.iter().map(|(name, _)| *name).collect();
    json!({
        "code": id,
        "level": level.name(),
        "summary": summary,
        "means": means,
        "to_do": remedy,
        "fields": fields,
    })
}

fn check_json(check: &Check) -> serde_json::Value {
    let Check { name, group, severity, reads, wanted, why, cost, .. } = check;
    json!({
        "check": name,
        "group": group,
        "severity": severity,
        "reads": reads,
        "wanted": wanted,
        "why": why,
        "cost": cost,
    })
}
