//! Reads a gateway's file, and looks at every value of it.

use std::collections::BTreeSet;
use std::path::Path;

use crate::error::RunnerError;
use crate::mistakes::{self, FileSettings, Mistake};
use crate::service::drop_copy::DropCopyKeys;
use crate::service::feed_backup::FeedBackupKeys;
use crate::service::file::GatewayFile;
use crate::service::journal::JournalKeys;
use crate::service::rules::Rules;

impl FileSettings for GatewayFile {
    fn start_paths_at(&mut self, folder: &Path) {
        for path in [&mut self.control, &mut self.session.store].into_iter().flatten() {
            *path = folder.join(&path);
        }
        if let Some(journal) = &mut self.journal {
            journal.folder = folder.join(&journal.folder);
        }
        if let Some(drop_copy) = &mut self.drop_copy {
            drop_copy.store = folder.join(&drop_copy.store);
        }
        if let Some(credentials) = &mut self.session.credentials {
            credentials.start_paths_at(folder);
        }
    }

    fn mistakes(&self) -> Vec<Mistake> {
        let mut mistakes = Vec::new();
        if self.name.is_empty() || self.name.contains(['/', '\0']) {
            mistakes.push(Mistake::new("name", &self.name, "a name without a slash"));
        }
        if self.instruments.is_empty() {
            let text = "[[instruments]]: none is named; a gateway trades at least one";
            mistakes.push(Mistake::told("instruments", text));
        }
        let instruments = self.instruments.iter().enumerate();
        let wrong: Vec<Mistake> = instruments
            .filter_map(|(at, instrument)| instrument.mistake(at).map(Mistake::from))
            .collect();
        if wrong.is_empty() {
            mistakes.extend(self.instruments().err().map(Mistake::from));
        }
        mistakes.extend(wrong);
        self.check_strategies(&mut mistakes);
        mistakes.extend(Rules::build(self).err().unwrap_or_default());
        mistakes.extend(self.session.mistakes());
        mistakes.extend(self.journal.iter().flat_map(JournalKeys::mistakes));
        mistakes.extend(self.feed_backup.iter().flat_map(FeedBackupKeys::mistakes));
        mistakes.extend(self.drop_copy.iter().flat_map(DropCopyKeys::mistakes));
        mistakes.extend(self.venue.mistakes().into_iter().map(Mistake::from));
        mistakes
    }
}

impl GatewayFile {
    /// The settings of a file; relative paths in it start at its folder.
    ///
    /// # Errors
    /// What is wrong in it: the file, the line, the key, the key that was meant.
    pub fn read(path: &Path) -> Result<Self, RunnerError> {
        let mut file: Self = mistakes::from_file(path)?;
        file.source = std::path::absolute(path).ok();
        Ok(file)
    }

    /// Looks at every value.
    ///
    /// # Errors
    /// Every setting that cannot be, its value and what would be right, one on each line.
    pub fn check(&self) -> Result<(), RunnerError> {
        match self.mistakes().as_slice() {
            [] => Ok(()),
            wrong => Err(mistakes::error(wrong)),
        }
    }

    /// Who may trade what.
    pub(super) fn rules(&self) -> Result<Rules, RunnerError> {
        Rules::build(self).map_err(|wrong| mistakes::error(&wrong))
    }

    fn check_strategies(&self, mistakes: &mut Vec<Mistake>) {
        let (mut names, mut numbers) = (BTreeSet::new(), BTreeSet::new());
        for (at, strategy) in self.strategies.iter().enumerate() {
            let key = |what: &str| format!("strategies[{at}].{what}");
            if strategy.name.is_empty() || !names.insert(&strategy.name) {
                let remedy = "a name that no other one has";
                mistakes.push(Mistake::new(&key("name"), &strategy.name, remedy));
            }
            // Limits and the kill switch know a strategy by its number alone.
            if !numbers.insert(strategy.number) {
                let remedy = "a number that no other strategy has";
                mistakes.push(Mistake::new(&key("number"), strategy.number, remedy));
            }
            let is_known =
                self.users.is_empty() || self.users.iter().any(|user| user.id == strategy.user);
            if !is_known {
                let ids: Vec<String> = self.users.iter().map(|user| user.id.to_string()).collect();
                let remedy = format!("the id of one of [[users]]: {}", ids.join(", "));
                mistakes.push(Mistake::new(&key("user"), strategy.user, remedy));
            }
        }
    }
}
