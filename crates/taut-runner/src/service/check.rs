//! Reads a gateway's file, and looks at every value of it.

use std::collections::BTreeSet;
use std::path::Path;

use taut_sys::{UNIX_NAME_BYTES_MAX, pinnable_cpus};

use crate::error::RunnerError;
use crate::mistakes::{self, FileSettings, Mistake};
use crate::placement::no_such_cpu;
use crate::service::balances::balances;
use crate::service::connections;
use crate::service::copy_reader::CopyReaderKeys;
use crate::service::dead_men::check_dead_man;
use crate::service::drop_copy::DropCopyKeys;
use crate::service::feed_backup::FeedBackupKeys;
use crate::service::file::{GatewayFile, StrategySettings, WhenGoneKey};
use crate::service::journal::JournalKeys;
use crate::service::name::{NAME_BYTES_MAX, is_name};
use crate::service::okx::OkxKeys;
use crate::service::proxy::ProxyKeys;
use crate::service::record::RecordKeys;
use crate::service::rules::Rules;
use crate::service::secret::CredentialSettings;

impl FileSettings for GatewayFile {
    fn start_paths_at(&mut self, folder: &Path) {
        let paths = [&mut self.control, &mut self.session.store, &mut self.risk.snapshot_folder];
        for path in paths.into_iter().flatten() {
            *path = folder.join(&path);
        }
        if let Some(journal) = &mut self.journal {
            journal.folder = folder.join(&journal.folder);
        }
        if let Some(record) = &mut self.record {
            record.folder = folder.join(&record.folder);
        }
        if let Some(drop_copy) = &mut self.drop_copy {
            drop_copy.store = folder.join(&drop_copy.store);
        }
        if let Some(reader) = &mut self.drop_copy_reader {
            reader.store = reader.store.take().map(|store| folder.join(store));
        }
        let deribit = self.deribit.as_mut().and_then(|deribit| deribit.ca.as_mut());
        let binance = self.binance.as_mut().and_then(|binance| binance.ca.as_mut());
        let okx = self.okx.as_mut().and_then(|okx| okx.ca.as_mut());
        for ca in [deribit, binance, okx].into_iter().flatten() {
            *ca = folder.join(&ca);
        }
        let secrets = self.okx.as_mut().map(|okx| [&mut okx.secret, &mut okx.passphrase]);
        for secret in secrets.into_iter().flatten().flatten() {
            secret.start_paths_at(folder);
        }
        if let Some(proxy) = &mut self.proxy {
            proxy.start_paths_at(folder);
        }
        if let Some(credentials) = &mut self.session.credentials {
            credentials.start_paths_at(folder);
        }
    }

    fn mistakes(&self) -> Vec<Mistake> {
        let mut mistakes = self.mistakes_but_of_secret();
        let credentials = self.session.credentials.as_ref();
        let credentials = credentials.filter(|_| connections::reads_secret(self));
        mistakes.extend(credentials.and_then(CredentialSettings::mistake));
        let okx = self.okx.iter().filter(|_| !self.is_paper);
        mistakes.extend(okx.flat_map(OkxKeys::mistakes_of_secrets));
        mistakes.extend(self.proxy.as_ref().and_then(ProxyKeys::mistake_of_secret));
        mistakes
    }
}

impl GatewayFile {
    /// The settings of a file; relative paths in it start at its folder.
    ///
    /// # Errors
    /// What is wrong in it: the file, the line, the key, the key that was meant.
    pub fn read(path: &Path) -> Result<Self, RunnerError> {
        Self::read_checked(path, Self::mistakes)
    }

    /// The same for trading on paper ([`GatewayFile::on_paper`]): nobody looks whether there is a
    /// key, where the market data of the venue need none.
    ///
    /// # Errors
    /// As [`GatewayFile::read`].
    pub fn read_on_paper(path: &Path) -> Result<Self, RunnerError> {
        let check = |file: &Self| file.clone().on_paper().mistakes_but_of_secret();
        let mut file = Self::read_checked(path, check)?.on_paper();
        if !connections::needs_key(&file) {
            file.session.credentials = None;
        }
        Ok(file)
    }

    /// The same for a look at the machine that it is meant for: nobody looks whether there is a
    /// key, or a CPU of that number.
    ///
    /// # Errors
    /// As [`GatewayFile::read_on_paper`].
    pub fn read_for_machine(path: &Path) -> Result<Self, RunnerError> {
        Self::read_checked(path, |file| file.clone().on_paper().mistakes_of_text())
    }

    /// The same while a gateway runs on an earlier reading of it: where its secret is must stay as
    /// it is, and nobody looks whether it is still there.
    ///
    /// # Errors
    /// As [`GatewayFile::read`].
    pub(super) fn read_again(path: &Path) -> Result<Self, RunnerError> {
        Self::read_checked(path, Self::mistakes_but_of_secret)
    }

    fn read_checked(
        path: &Path,
        check: impl FnOnce(&Self) -> Vec<Mistake>,
    ) -> Result<Self, RunnerError> {
        let mut file: Self = mistakes::from_file_checked(path, check)?;
        file.source = std::path::absolute(path).ok();
        Ok(file)
    }

    fn mistakes_but_of_secret(&self) -> Vec<Mistake> {
        let mut mistakes = self.mistakes_of_text();
        mistakes.extend(self.mistake_of_cpu());
        mistakes
    }

    /// What is wrong on every machine.
    fn mistakes_of_text(&self) -> Vec<Mistake> {
        let mut mistakes = Vec::new();
        self.check_names(&mut mistakes);
        mistakes.extend(self.gateway.mistakes().into_iter().map(Mistake::from));
        mistakes.extend(self.mistakes_of_patterns());
        mistakes.extend(self.mistakes_of_room());
        if self.instruments.is_empty() && self.subscribe.is_empty() {
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
        let wrong = balances(self).err().unwrap_or_default();
        mistakes.extend(wrong.into_iter().map(Mistake::from));
        mistakes.extend(self.session.mistakes());
        mistakes.extend(self.journal.iter().flat_map(JournalKeys::mistakes));
        mistakes.extend(self.record.iter().flat_map(RecordKeys::mistakes));
        mistakes.extend(self.outliers.mistakes().into_iter().map(Mistake::from));
        mistakes.extend(self.feed_backup.iter().flat_map(FeedBackupKeys::mistakes));
        mistakes.extend(self.drop_copy.iter().flat_map(DropCopyKeys::mistakes));
        mistakes.extend(self.drop_copy_reader.iter().flat_map(CopyReaderKeys::mistakes));
        let reader = self.drop_copy_reader.iter();
        mistakes.extend(reader.flat_map(|keys| connections::copy_mistakes(self, keys)));
        mistakes.extend(connections::mistakes(self));
        mistakes
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

    /// The same while a gateway runs: its secret is in use already, and not looked at.
    pub(super) fn check_again(&self) -> Result<(), RunnerError> {
        match self.mistakes_but_of_secret().as_slice() {
            [] => Ok(()),
            wrong => Err(mistakes::error(wrong)),
        }
    }

    /// Who may trade what.
    pub(super) fn rules(&self) -> Result<Rules, RunnerError> {
        Rules::build(self).map_err(|wrong| mistakes::error(&wrong))
    }

    /// The gateway's name, which is a part of the name of its control socket.
    fn check_names(&self, mistakes: &mut Vec<Mistake>) {
        if self.name.is_empty() || self.name.contains(['/', '\0']) {
            mistakes.push(Mistake::new("name", &self.name, "a name without a slash"));
        }
        let bytes = self.control_path().as_os_str().len();
        if bytes > UNIX_NAME_BYTES_MAX {
            let most = format!("at most {UNIX_NAME_BYTES_MAX} bytes long, not {bytes}");
            mistakes.push(match &self.control {
                Some(path) => Mistake::new("control", path.display(), most),
                None => {
                    let remedy = format!("so short that the path of the control socket is {most}");
                    Mistake::new("name", &self.name, remedy)
                }
            });
        }
    }

    /// What only the machine can say: its CPUs.
    fn mistake_of_cpu(&self) -> Option<Mistake> {
        let (cpu, cpus) = (self.cpu?, pinnable_cpus().ok()?);
        (!cpus.contains(&cpu)).then(|| no_such_cpu("cpu", cpu, &cpus).into())
    }

    fn check_when_gone(
        &self,
        strategy: &StrategySettings,
        key: &impl Fn(&str) -> String,
        mistakes: &mut Vec<Mistake>,
    ) {
        match &strategy.when_gone {
            WhenGoneKey::Cancel => {
                if let Some(ms) = strategy.keep_ms {
                    let remedy = "beside when_gone = \"keep\" or { hand_over_to = NAME }";
                    mistakes.push(Mistake::new(&key("keep_ms"), ms, remedy));
                }
            }
            WhenGoneKey::Keep => {}
            WhenGoneKey::HandOverTo(heir) => {
                let others = self.strategies.iter().filter(|it| it.name != strategy.name);
                let others: Vec<&str> = others.map(|it| it.name.as_str()).collect();
                if !others.contains(&heir.as_str()) {
                    let remedy = match others.as_slice() {
                        [] => "another strategy of this file, and there is none".to_owned(),
                        others => format!("another strategy of this file: {}", others.join(", ")),
                    };
                    let key = key("when_gone.hand_over_to");
                    mistakes.push(Mistake::new(&key, heir, remedy));
                }
            }
        }
    }

    fn check_strategies(&self, mistakes: &mut Vec<Mistake>) {
        let (mut names, mut numbers) = (BTreeSet::new(), BTreeSet::new());
        for (at, strategy) in self.strategies.iter().enumerate() {
            let key = |what: &str| format!("strategies[{at}].{what}");
            if !is_name(&strategy.name) || !names.insert(&strategy.name) {
                let remedy = format!("1 to {NAME_BYTES_MAX} bytes, which no other strategy has");
                mistakes.push(Mistake::new(&key("name"), &strategy.name, remedy));
            }
            self.check_when_gone(strategy, &key, mistakes);
            check_dead_man(&key("dead_man_ms"), strategy.dead_man_ms, mistakes);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::service::GATEWAY_SAMPLE;

    /// As a shell on a machine that has isolated CPUs, which may be pinned to them all the same.
    #[test]
    fn a_cpu_outside_the_affinity_of_who_reads_the_file_is_one_of_this_machine() {
        let cpus = pinnable_cpus().expect("CPUs");
        let (Some(first), Some(last)) = (cpus.first().copied(), cpus.last()) else { return };
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("gateway.toml");
        let text = GATEWAY_SAMPLE.replace("# cpu = 1", &format!("cpu = {last}"));
        std::fs::write(&path, text).expect("a file");
        let read = move || {
            taut_sys::pin_to_cpu(first).expect("a CPU");
            [GatewayFile::read(&path), GatewayFile::read_on_paper(&path)]
        };
        for file in std::thread::spawn(read).join().expect("a reader") {
            assert_eq!(file.expect("right").cpu, Some(*last));
        }
    }

    #[test]
    fn a_look_at_the_machine_takes_every_cpu_and_keeps_what_paper_leaves_out() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("gateway.toml");
        let read = |text: &str| {
            std::fs::write(&path, text).expect("a file");
            (GatewayFile::read_for_machine(&path), GatewayFile::read_on_paper(&path))
        };
        let text = GATEWAY_SAMPLE.replace("# cpu = 1", "cpu = 999");
        let (machine, paper) = read(&text.replace("backups = []", "backups = [\"192.0.2.7:9\"]"));
        let machine = machine.expect("right");
        assert_eq!((machine.cpu, machine.session.backups.len()), (Some(999), 1));
        assert!(paper.expect_err("no such CPU").to_string().contains("cpu = 999"));
        let (machine, paper) = read(&format!("{GATEWAY_SAMPLE}\n[bogus]\nkey = 1\n"));
        assert!(machine.is_err() && paper.is_err(), "what is wrong is wrong everywhere");
    }
}
