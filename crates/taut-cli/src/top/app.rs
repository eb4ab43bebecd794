//! What is shown, and what keys change of it.

use clap::ValueEnum;

use super::keys::Key;
use super::sort::{SORTS, over, sorted};
use crate::observed::model::{GatewaySeen, Snapshot};

/// The pages of a gateway.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Tab {
    /// Where the time of an order goes, in three windows
    #[default]
    Stages,
    /// Best prices, and the depth of the book that is selected
    Books,
    /// Open orders, and the last ones that were sent with their own times
    Orders,
    /// What is held, and its profit
    Positions,
    /// Who may attach, who has, and how far behind
    Strategies,
    /// Orders and market data
    Connections,
    /// All that is counted
    Counters,
    /// What is wrong
    Warnings,
}

impl Tab {
    /// All of them, in the order of their digits.
    pub const ALL: [Self; 8] = [
        Self::Stages,
        Self::Books,
        Self::Orders,
        Self::Positions,
        Self::Strategies,
        Self::Connections,
        Self::Counters,
        Self::Warnings,
    ];

    /// What it is called.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Stages => "stages",
            Self::Books => "books",
            Self::Orders => "orders",
            Self::Positions => "positions",
            Self::Strategies => "strategies",
            Self::Connections => "connections",
            Self::Counters => "counters",
            Self::Warnings => "warnings",
        }
    }

    /// The same where there is little room.
    pub const fn short(self) -> &'static str {
        match self {
            Self::Positions => "held",
            Self::Strategies => "strat",
            Self::Connections => "conn",
            Self::Counters => "count",
            Self::Warnings => "warn",
            _ => self.name(),
        }
    }
}

/// Which page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Page {
    /// All gateways.
    #[default]
    Overview,
    /// All channels in shared memory.
    Channels,
    /// All processes of `taut`.
    Processes,
    /// A page of one gateway.
    Gateway(Tab),
    /// The stages of one order, by its id.
    Order(String),
}

/// What somebody who pressed a key wants of the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wish {
    /// Nothing but another frame.
    Nothing,
    /// The end.
    Quit,
    /// Other books are shown.
    Follow,
    /// Everything of this gateway killed; it was confirmed.
    Kill(String),
}

/// What is typed to confirm a kill.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Confirmation {
    /// The gateway, whose name is to be typed.
    pub gateway: String,
    /// What has been typed.
    pub typed: String,
}

/// What is shown.
#[derive(Debug, Default)]
pub struct App {
    /// The latest that was seen, or what is frozen.
    pub snapshot: Snapshot,
    pub is_frozen: bool,
    pub page: Page,
    /// The name of the gateway that is selected.
    pub gateway: String,
    /// The line that is selected on the page.
    pub line: usize,
    /// The lines that there are on it: the last frame said so.
    pub lines: usize,
    /// The lines that fit: the last frame said so.
    pub lines_shown: usize,
    /// Which of [`SORTS`].
    pub sort: usize,
    pub is_reversed: bool,
    pub shows_help: bool,
    pub confirmation: Option<Confirmation>,
    /// What came of the last thing that was done.
    pub said: String,
    pub has_colours: bool,
}

impl App {
    /// The overview, before anything was seen.
    pub fn new(has_colours: bool) -> Self {
        Self { has_colours, ..Self::default() }
    }

    /// Takes what was seen, unless it is frozen.
    pub fn see(&mut self, snapshot: Snapshot) {
        if self.is_frozen {
            return;
        }
        self.snapshot = snapshot;
        if self.selected().is_none() {
            let first = self.sorted().first().map(|it| it.name.clone());
            self.gateway = first.unwrap_or_default();
            if matches!(self.page, Page::Gateway(_) | Page::Order(_)) {
                self.go(Page::Overview);
            }
        }
    }

    /// Says something in the last line.
    pub fn say(&mut self, what: String) {
        self.said = what;
    }

    /// The gateway that is selected.
    pub fn selected(&self) -> Option<&GatewaySeen> {
        self.snapshot.gateways.iter().find(|it| it.name == self.gateway)
    }

    /// The gateways in the order in which they are shown.
    pub fn sorted(&self) -> Vec<&GatewaySeen> {
        sorted(&self.snapshot, self.sort, self.is_reversed)
    }

    /// Opens a page of the gateway that is selected.
    pub fn open(&mut self, tab: Tab) {
        self.go(Page::Gateway(tab));
    }

    /// The books that are to be followed: of the instruments from the selected one on.
    pub fn wanted_books(&self) -> Option<(String, Vec<String>)> {
        if self.page != Page::Gateway(Tab::Books) {
            return None;
        }
        let gateway = self.selected()?;
        let symbols = gateway.instruments.iter().skip(self.line.saturating_sub(4)).take(16);
        Some((gateway.name.clone(), symbols.map(|it| it.symbol.clone()).collect()))
    }

    /// Does what a key asks for, and says what is left to do.
    pub fn on_key(&mut self, key: Key) -> Wish {
        if key == Key::Interrupt {
            return Wish::Quit;
        }
        if self.confirmation.is_some() {
            return self.confirm(key);
        }
        self.said.clear();
        if std::mem::take(&mut self.shows_help) {
            return if key == Key::Char('q') { Wish::Quit } else { Wish::Nothing };
        }
        match key {
            Key::Char('q') => return Wish::Quit,
            Key::Char('?' | 'h') => self.shows_help = true,
            Key::Char(' ') => self.is_frozen = !self.is_frozen,
            Key::Char('k') => self.ask_for_kill(),
            Key::Char('s') if self.page == Page::Overview => {
                self.sort = (self.sort + 1) % SORTS.len();
                self.keep_selection();
            }
            Key::Char('r') if self.page == Page::Overview => {
                self.is_reversed = !self.is_reversed;
                self.keep_selection();
            }
            Key::Char('c') => self.toggle(Page::Channels),
            Key::Char('p') => self.toggle(Page::Processes),
            Key::Char(digit @ '1'..='8') if self.selected().is_some() => {
                let place = usize::from(digit as u8 - b'1');
                self.open(Tab::ALL.get(place).copied().unwrap_or_default());
            }
            Key::Left | Key::Right => self.turn(key == Key::Right),
            Key::Enter => self.enter(),
            Key::Escape | Key::Backspace => self.back(),
            _ => self.scroll(key),
        }
        match self.page {
            Page::Gateway(Tab::Books) => Wish::Follow,
            _ => Wish::Nothing,
        }
    }

    /// To this page, or from there to the overview.
    fn toggle(&mut self, page: Page) {
        let is_there = self.page == page;
        self.go(if is_there { Page::Overview } else { page });
    }

    fn go(&mut self, page: Page) {
        self.page = page;
        self.line = 0;
        self.keep_selection();
    }

    /// On the overview the line is that of the gateway that is selected.
    fn keep_selection(&mut self) {
        if self.page == Page::Overview {
            let place = self.sorted().iter().position(|it| it.name == self.gateway);
            self.line = place.unwrap_or(0);
        }
    }

    fn turn(&mut self, is_forward: bool) {
        let Page::Gateway(tab) = self.page else { return };
        let count = Tab::ALL.len();
        let place = Tab::ALL.iter().position(|it| *it == tab).unwrap_or(0);
        let next = if is_forward { place + 1 } else { place + count - 1 };
        self.open(Tab::ALL.get(next % count).copied().unwrap_or_default());
    }

    fn enter(&mut self) {
        match &self.page {
            Page::Overview if self.selected().is_some() => self.open(Tab::Stages),
            Page::Gateway(Tab::Orders) => {
                // Open orders stand before those that are over.
                let id = self.selected().and_then(|gateway| {
                    let open = gateway.orders.iter().map(|it| &it.id);
                    open.chain(over(gateway).map(|it| &it.id)).nth(self.line).cloned()
                });
                if let Some(id) = id {
                    self.page = Page::Order(id);
                }
            }
            _ => {}
        }
    }

    fn back(&mut self) {
        match self.page {
            Page::Order(_) => self.page = Page::Gateway(Tab::Orders),
            _ => self.go(Page::Overview),
        }
    }

    fn scroll(&mut self, key: Key) {
        let last = self.lines.saturating_sub(1);
        let screen = self.lines_shown.max(1);
        self.line = match key {
            Key::Up => self.line.saturating_sub(1),
            Key::Down => (self.line + 1).min(last),
            Key::PageUp => self.line.saturating_sub(screen),
            Key::PageDown => (self.line + screen).min(last),
            Key::Home => 0,
            Key::End => last,
            _ => return,
        };
        if self.page == Page::Overview {
            let name = self.sorted().get(self.line).map(|it| it.name.clone());
            self.gateway = name.unwrap_or_default();
        }
    }

    fn ask_for_kill(&mut self) {
        match self.selected().map(|it| it.name.clone()) {
            Some(gateway) if !matches!(self.page, Page::Channels | Page::Processes) => {
                self.confirmation = Some(Confirmation { gateway, typed: String::new() });
            }
            _ => self.say("no gateway is selected".to_owned()),
        }
    }

    /// Takes what is typed; the name in full and Enter kill.
    fn confirm(&mut self, key: Key) -> Wish {
        let Some(confirmation) = &mut self.confirmation else { return Wish::Nothing };
        match key {
            Key::Char(letter) => confirmation.typed.push(letter),
            Key::Backspace => _ = confirmation.typed.pop(),
            Key::Enter => {
                let Confirmation { gateway, typed } = std::mem::take(confirmation);
                self.confirmation = None;
                if typed == phrase(&gateway) {
                    self.say(format!("killing {gateway} ..."));
                    return Wish::Kill(gateway);
                }
                let wanted = phrase(&gateway);
                self.say(format!("'{typed}' is not '{wanted}': nothing was killed"));
            }
            Key::Escape => {
                self.confirmation = None;
                self.say("nothing was killed".to_owned());
            }
            _ => {}
        }
        Wish::Nothing
    }
}

/// What is to be typed to confirm a kill: a path's last part.
pub fn phrase(gateway: &str) -> &str {
    gateway.rsplit('/').next().unwrap_or(gateway)
}
