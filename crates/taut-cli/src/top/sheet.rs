//! A page as text: lines above, a table that scrolls, lines below.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};
use taut_sys::visible;

/// How a row is meant. Its words say it, too: colour is never alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tone {
    /// As it should be.
    #[default]
    Plain,
    /// Over, or of no interest.
    Dim,
    /// Look at it.
    Bad,
}

/// A column of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// What stands above it.
    pub head: &'static str,
    /// Its width; 0 takes what is left.
    pub width: usize,
    /// Numbers stand at their right ends.
    pub is_number: bool,
    /// How wide the screen must be for it.
    pub from: u16,
}

/// A column of words.
pub const fn words(head: &'static str, width: usize) -> Column {
    Column { head, width, is_number: false, from: 0 }
}

/// A column of numbers.
pub const fn number(head: &'static str, width: usize) -> Column {
    Column { head, width, is_number: true, from: 0 }
}

impl Column {
    /// The same, on screens that are so wide alone.
    pub const fn from(self, from: u16) -> Self {
        Self { from, ..self }
    }
}

/// A row of a table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Row {
    /// One for each column.
    pub cells: Vec<String>,
    /// How it is meant.
    pub tone: Tone,
}

impl Row {
    /// A plain one.
    pub fn of(cells: impl IntoIterator<Item = String>) -> Self {
        Self { cells: cells.into_iter().collect(), tone: Tone::Plain }
    }

    /// The same, meant so.
    pub fn tone(self, tone: Tone) -> Self {
        Self { tone, ..self }
    }
}

/// A page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sheet {
    /// Lines above the table.
    pub above: Vec<String>,
    /// The table's columns.
    pub columns: Vec<Column>,
    /// Its rows, which scroll.
    pub rows: Vec<Row>,
    /// What stands there when there are none.
    pub empty: &'static str,
    /// Lines below it, at the lower end of the screen.
    pub below: Vec<String>,
}

impl Sheet {
    /// How many rows fit.
    pub fn rows_shown(&self, area: Rect) -> usize {
        let others = self.above.len() + self.below.len() + usize::from(!self.columns.is_empty());
        usize::from(area.height).saturating_sub(others)
    }

    /// Draws it with this row selected, where one is.
    pub fn draw(
        &self,
        selected: Option<usize>,
        has_colours: bool,
        area: Rect,
        buffer: &mut Buffer,
    ) {
        let shown = self.rows_shown(area);
        let mut pen = Pen { area, row: 0, buffer };
        for line in &self.above {
            pen.line(line, Style::new());
        }
        if !self.columns.is_empty() {
            let heads = self.columns.iter().map(|column| column.head.to_owned());
            let head = self.text(' ', heads, area.width);
            pen.line(&head, Style::new().add_modifier(Modifier::BOLD));
        }
        if self.rows.is_empty() {
            pen.line(&format!("  {}", self.empty), Style::new());
        }
        let last = self.rows.len().saturating_sub(shown);
        let middle = selected.unwrap_or(0).saturating_sub(shown / 2);
        let first = middle.min(last);
        for (place, row) in self.rows.iter().enumerate().skip(first).take(shown) {
            let is_selected = selected == Some(place);
            let mark = if is_selected { '>' } else { ' ' };
            let text = self.text(mark, row.cells.iter().cloned(), area.width);
            let style = match row.tone {
                Tone::Plain => Style::new(),
                Tone::Dim => Style::new().add_modifier(Modifier::DIM),
                Tone::Bad if has_colours => Style::new().fg(Color::Red),
                Tone::Bad => Style::new().add_modifier(Modifier::BOLD),
            };
            let reversed = style.add_modifier(Modifier::REVERSED);
            pen.line(&text, if is_selected { reversed } else { style });
        }
        pen.row = area.height.saturating_sub(u16::try_from(self.below.len()).unwrap_or(u16::MAX));
        for line in &self.below {
            pen.line(line, Style::new());
        }
    }

    /// A row as text: a mark, then the cells in their columns.
    fn text(&self, mark: char, cells: impl Iterator<Item = String>, width: u16) -> String {
        let mut text = String::from(mark);
        let mut used = 1;
        for (column, cell) in self.columns.iter().zip(cells) {
            if width < column.from {
                continue;
            }
            let rest = usize::from(width).saturating_sub(used + 1);
            let room = if column.width == 0 { rest } else { column.width };
            let cell = cut(&cell, room);
            text.push(' ');
            text += &match column.is_number {
                true => format!("{cell:>room$}"),
                false => format!("{cell:<room$}"),
            };
            used += room + 1;
        }
        text
    }
}

/// Writes lines one below the other.
struct Pen<'a> {
    area: Rect,
    row: u16,
    buffer: &'a mut Buffer,
}

impl Pen<'_> {
    fn line(&mut self, text: &str, style: Style) {
        if self.row < self.area.height {
            let (x, y, width) = (self.area.x, self.area.y + self.row, self.area.width);
            self.buffer.set_stringn(x, y, visible(text), usize::from(width), style);
            self.row += 1;
        }
    }
}

/// What of a text has room, with a mark where something is missing.
pub fn cut(text: &str, room: usize) -> String {
    let text = visible(text);
    if text.chars().count() <= room {
        return text.to_string();
    }
    let kept: String = text.chars().take(room.saturating_sub(1)).collect();
    format!("{kept}…")
}

/// A text in lines of at most so many letters, broken between words.
pub fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let line = lines.last_mut();
        match line {
            Some(line) if line.is_empty() => *line = word.to_owned(),
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_room_is_cut_with_a_mark_and_nothing_obeys_the_terminal() {
        assert_eq!((cut("abcdef", 6), cut("abcdef", 4)), ("abcdef".to_owned(), "abc…".to_owned()));
        assert!(!cut("a\u{1b}[2J", 20).contains('\u{1b}'));
        assert_eq!(wrapped("one two three", 8), ["one two", "three"]);
    }
}
