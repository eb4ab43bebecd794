//! The table as a whole: rows by number and by code, and its page.

use alloc::string::String;
use core::fmt::Write;

use crate::code::Code;
use crate::messages::CODES;

/// The first row.
const FIRST: &Code = match CODES {
    [first, ..] => first,
    [] => unreachable!(),
};

/// The row of a number; the first one for a number that is none.
pub(crate) fn by_number(number: u16) -> &'static Code {
    CODES.get(usize::from(number)).unwrap_or(FIRST)
}

/// The row of a code such as `GW-0101`, in capitals or not.
#[must_use]
pub fn code(id: &str) -> Option<&'static Code> {
    CODES.iter().find(|code| code.id.eq_ignore_ascii_case(id))
}

/// The whole table as a page.
#[must_use]
pub fn codes_markdown() -> String {
    let mut page = String::from(
        "# Codes of messages\n\nWhat a gateway or a venue says on standard error or in systemd's \
         journal has a code; `taut explain CODE`\nprints what stands here. This page is the print \
         of the table in `crates/taut-log/src/messages.rs`\n(`taut explain --markdown`), and a \
         test holds it against it. How messages are written and how many:\n\
         [operate](operate/README.md#logs).\n",
    );
    let mut part = "";
    for code in CODES {
        let prefix = code.id.get(..5).unwrap_or(code.id);
        if prefix != part {
            part = prefix;
            let _ = write!(page, "\n## {}\n", part_title(part));
        }
        let Code { id, level, summary, means, remedy, fields } = code;
        let _ = write!(page, "\n### {id}\n\n*{level}*: {summary}");
        for (at, (name, _)) in fields.iter().enumerate() {
            let _ = write!(page, "{}`{name}`", if at == 0 { "; says " } else { ", " });
        }
        let _ = write!(page, ".\n\n{means}\n\n**To do:** {remedy}\n");
    }
    page
}

/// What the codes with this beginning are about.
fn part_title(prefix: &str) -> &'static str {
    match prefix {
        "GW-00" => "GW-00: a gateway's process",
        "GW-01" => "GW-01: orders and the session that carries them",
        "GW-02" => "GW-02: market data",
        "GW-04" => "GW-04: kills and limits",
        "GW-05" => "GW-05: what is written down, and copies",
        "GW-06" => "GW-06: strategies",
        "GW-07" => "GW-07: operation",
        "VN-00" => "VN-00: a venue's process",
        _ => "LG-00: the log itself",
    }
}
