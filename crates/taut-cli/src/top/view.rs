//! A frame: a title, the page, a line of keys; over it help, or the confirmation of a kill.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use ratatui::widgets::{Block, Clear, Paragraph, Widget};
use taut_report::utc_text;

use super::app::{App, Confirmation, Page, Tab, phrase};
use super::overview::state;
use super::sheet::cut;
use super::{detail, overview};

/// So many columns have room for the names of all pages.
const WIDE: u16 = 110;

/// Draws what is shown.
pub fn draw(app: &mut App, area: Rect, buffer: &mut Buffer) {
    let [title, tabs, keys] = [0, 1, area.height.saturating_sub(1)];
    let line = |y: u16| Rect { y: area.y + y, height: 1, ..area };
    put(&heading(app), Style::new().add_modifier(Modifier::REVERSED), line(title), buffer);
    put(&tab_line(app, area.width), Style::new(), line(tabs), buffer);
    let below =
        if app.said.is_empty() { keys_line(app).to_owned() } else { format!(" {}", app.said) };
    put(&below, Style::new().add_modifier(Modifier::DIM), line(keys), buffer);
    let page = Rect { y: area.y + 2, height: area.height.saturating_sub(3), ..area };
    let sheet = match app.page {
        Page::Overview => overview::gateways(app, area.width),
        Page::Channels => overview::channels(app),
        Page::Processes => overview::processes(app),
        _ => detail::page(app, area.width),
    };
    (app.lines, app.lines_shown) = (sheet.rows.len(), sheet.rows_shown(page));
    app.line = app.line.min(app.lines.saturating_sub(1));
    sheet.draw(Some(app.line), app.has_colours, page, buffer);
    if app.shows_help {
        boxed("keys (any key goes back)", &HELP, area, buffer);
    }
    if let Some(confirmation) = &app.confirmation {
        boxed("kill switch", &confirm_lines(confirmation), area, buffer);
    }
}

fn put(text: &str, style: Style, area: Rect, buffer: &mut Buffer) {
    let width = usize::from(area.width);
    let text = format!("{:<width$}", cut(text, width));
    buffer.set_stringn(area.x, area.y, text, width, style);
}

fn heading(app: &App) -> String {
    let frozen = if app.is_frozen { "  FROZEN: space goes on" } else { "" };
    let count = app.snapshot.gateways.len();
    let gateways = if count == 1 { "gateway" } else { "gateways" };
    format!(" taut top  {}  {count} {gateways}{frozen}", utc_text(app.snapshot.at_ns))
}

fn tab_line(app: &App, width: u16) -> String {
    let open = match &app.page {
        Page::Overview => return " all gateways".to_owned(),
        Page::Channels => return " channels".to_owned(),
        Page::Processes => return " processes".to_owned(),
        Page::Gateway(tab) => *tab,
        Page::Order(_) => Tab::Orders,
    };
    let state = app.selected().map(state).unwrap_or_default();
    let mut text = format!(" {} {state}:", phrase(&app.gateway));
    for (digit, tab) in (1..).zip(Tab::ALL) {
        let name = if width < WIDE { tab.short() } else { tab.name() };
        text += &match tab == open {
            true => format!(" [{digit} {name}]"),
            false => format!(" {digit} {name}"),
        };
    }
    text
}

const fn keys_line(app: &App) -> &'static str {
    match app.page {
        Page::Overview => {
            " ↑↓ Enter  s r sort  space freeze  c channels  p processes  k kill  ? help  q"
        }
        Page::Channels | Page::Processes => {
            " ↑↓ scroll  Esc gateways  space freeze  ? help  q quit"
        }
        Page::Gateway(Tab::Orders) => {
            " ↑↓ select  Enter stages of the order  1-8 ←→ page  Esc back  k kill  ? q"
        }
        _ => " ↑↓ select  1-8 ←→ page  space freeze  Esc back  k kill  ? help  q quit",
    }
}

const HELP: [&str; 11] = [
    "up, down, PgUp, PgDn, Home, End   select a line",
    "Enter        open the gateway, or an order's stages",
    "1 to 8, left, right, Tab          pages of the gateway",
    "Esc, Backspace                    back",
    "s, r         sort by the next column, reversed",
    "space        freeze what is shown, and go on",
    "c, p         channels in shared memory, processes of taut",
    "k            kill switch of the selected gateway:",
    "             no new order, open ones cancelled;",
    "             asks for its name first",
    "q, Ctrl-C    end",
];

fn confirm_lines(confirmation: &Confirmation) -> [String; 5] {
    let Confirmation { gateway, typed } = confirmation;
    [
        format!("Let no new order of {gateway} pass,"),
        "and cancel its open ones?".to_owned(),
        format!("Type its name and press Enter: {}", phrase(gateway)),
        format!("> {typed}_"),
        "Esc goes back, and nothing is killed.".to_owned(),
    ]
}

fn boxed<T: AsRef<str>>(title: &str, lines: &[T], area: Rect, buffer: &mut Buffer) {
    let longest = lines.iter().map(|line| line.as_ref().chars().count()).max().unwrap_or(0);
    let fits = |wanted: usize, most: u16| u16::try_from(wanted).unwrap_or(u16::MAX).min(most);
    let (width, height) = (fits(longest + 4, area.width), fits(lines.len() + 2, area.height));
    let x = area.x + (area.width - width) / 2;
    let y = area.y + (area.height - height) / 2;
    let place = Rect { x, y, width, height };
    Clear.render(place, buffer);
    let text: Vec<String> = lines.iter().map(|line| format!(" {}", line.as_ref())).collect();
    let block = Block::bordered().title(format!(" {title} "));
    Paragraph::new(text.join("\n")).block(block).render(place, buffer);
}
