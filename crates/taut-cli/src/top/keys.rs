//! Keys, and what they mean.

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

/// A key that means something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    /// A letter or a digit.
    Char(char),
    /// One line up or down.
    Up,
    /// The other way.
    Down,
    /// To the page before.
    Left,
    /// To the next page.
    Right,
    /// A screen up.
    PageUp,
    /// A screen down.
    PageDown,
    /// To the first line.
    Home,
    /// To the last line.
    End,
    /// Opens, or confirms.
    Enter,
    /// Back.
    Escape,
    /// Takes a letter away, or back.
    Backspace,
    /// Ends the program, wherever it is.
    Interrupt,
    /// Nothing.
    Other,
}

/// What a key of the terminal means.
pub fn wish(key: &KeyEvent) -> Key {
    if key.kind == KeyEventKind::Release {
        return Key::Other;
    }
    let has_control = key.modifiers.contains(KeyModifiers::CONTROL);
    match key.code {
        KeyCode::Char('c' | 'C') if has_control => Key::Interrupt,
        KeyCode::Char(_) if has_control => Key::Other,
        KeyCode::Char(letter) => Key::Char(letter),
        KeyCode::Up => Key::Up,
        KeyCode::Down => Key::Down,
        KeyCode::Left | KeyCode::BackTab => Key::Left,
        KeyCode::Right | KeyCode::Tab => Key::Right,
        KeyCode::PageUp => Key::PageUp,
        KeyCode::PageDown => Key::PageDown,
        KeyCode::Home => Key::Home,
        KeyCode::End => Key::End,
        KeyCode::Enter => Key::Enter,
        KeyCode::Esc => Key::Escape,
        KeyCode::Backspace => Key::Backspace,
        _ => Key::Other,
    }
}
