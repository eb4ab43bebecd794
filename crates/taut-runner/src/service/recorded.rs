//! What a recording of a gateway has of its file and of what it is asked for.

use serde::{Deserialize, Serialize};
use taut_gateway::{OrderFilter, Owner};
use taut_oms::{KillScope, RiskLimits};
use taut_sys::tape::{Get, Put};
use taut_types::{AccountId, InstrumentId, Side, StrategyId, UserId};
use toml::Table;

use crate::error::RunnerError;
use crate::recording::out_of;
use crate::service::file::GatewayFile;
use crate::service::subscribe_rule::Subscribed;
use crate::service::threads::Command;

/// A gateway that ran by itself. Its file says where secrets are, and none of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecordedGateway {
    pub file: RecordedFile,
    /// The strategy that ran in its thread.
    pub fused: Option<String>,
}

impl RecordedGateway {
    /// The gateway's.
    pub fn name(&self) -> &str {
        &self.file.file.name
    }

    /// The limits of its file with these tables in the place of its own.
    pub fn limits(&self, tables: Table) -> Result<RiskLimits, RunnerError> {
        const KNOWN: [&str; 4] = ["risk", "symbols", "users", "accounts"];
        let wrong = |what: String| RunnerError::Settings(what);
        let file = GatewayFile::from(self.file.clone());
        let mut value = serde_json::to_value(&file).map_err(|error| wrong(error.to_string()))?;
        for (key, table) in tables {
            if !KNOWN.contains(&key.as_str()) {
                let known = KNOWN.join(", ");
                return Err(wrong(format!("{key}: limits are in the tables {known}")));
            }
            let table = serde_json::to_value(table).map_err(|error| wrong(error.to_string()))?;
            value[key] = table;
        }
        let other: GatewayFile = out_of(&value).map_err(|error| wrong(error.to_string()))?;
        let (room, subscribed) = (file.room, file.subscribed);
        let other = GatewayFile { room, subscribed, is_paper: file.is_paper, ..other };
        Ok(other.rules()?.risk.limits)
    }
}

/// A gateway's file with what is not in its text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecordedFile {
    file: GatewayFile,
    is_paper: bool,
    room: Option<usize>,
    /// How many instruments are written in it, and the venue's numbers of all.
    subscribed: Option<(usize, Vec<u32>)>,
}

impl From<&GatewayFile> for RecordedFile {
    fn from(file: &GatewayFile) -> Self {
        let subscribed = file.subscribed.as_ref().map(|it| {
            let numbers = it.numbers.iter().map(|number| number.0);
            (it.written, numbers.collect())
        });
        Self { file: file.clone(), is_paper: file.is_paper, room: file.room, subscribed }
    }
}

impl From<RecordedFile> for GatewayFile {
    fn from(recorded: RecordedFile) -> Self {
        let RecordedFile { mut file, is_paper, room, subscribed } = recorded;
        file.subscribed = subscribed.map(|(written, numbers)| Subscribed {
            written,
            numbers: numbers.into_iter().map(InstrumentId).collect(),
        });
        (file.is_paper, file.room) = (is_paper, room);
        file
    }
}

/// A command as it stands on the tape.
#[derive(Debug)]
pub enum Given {
    /// As it was.
    Command(Command),
    /// Another file: its limits are taken.
    Limits(Box<GatewayFile>),
    /// The instrument of this number in the file that was taken last.
    Instrument(usize),
}

/// Writes a command down. Those that only look are not to be.
pub fn put(command: &Command, on: &mut Put<'_>) {
    match command {
        Command::Attach(place, owner) => {
            on.number(1);
            on.number(*place as u64);
            put_owner(*owner, on);
        }
        Command::Detach(place) => [2, *place as u64].into_iter().for_each(|it| on.number(it)),
        Command::Evict(place) => [3, *place as u64].into_iter().for_each(|it| on.number(it)),
        Command::SetRules(_, _, file) => {
            on.number(4);
            // A file is JSON: its loader has read it.
            on.bytes(&serde_json::to_vec(&RecordedFile::from(&**file)).unwrap_or_default());
        }
        Command::AddInstrument(new) => {
            on.number(5);
            on.number(new.instrument.id().0.into());
        }
        Command::Roll => on.number(6),
        Command::Kill(scope) => {
            on.number(7);
            put_scope(*scope, on);
        }
        Command::Revive(scope) => {
            on.number(8);
            put_scope(*scope, on);
        }
        Command::Alive => on.number(9),
        Command::CancelAll(filter) => {
            on.number(10);
            let OrderFilter { user, strategy, account, instrument, side } = *filter;
            let side = side.map(|side| u32::from(side == Side::Sell));
            let (user, strategy) = (user.map(|it| it.0.into()), strategy.map(|it| it.0.into()));
            let (account, instrument) = (account.map(|it| it.0.into()), instrument.map(|it| it.0));
            for part in [user, strategy, account, instrument, side] {
                on.number(part.map_or(0, |part: u32| u64::from(part) + 1));
            }
        }
        Command::HandOver(from, to) => {
            on.number(11);
            put_owner(*from, on);
            put_owner(*to, on);
        }
        Command::Stop => on.number(12),
        Command::Status
        | Command::Orders
        | Command::Positions
        | Command::Book(_)
        | Command::Usage
        | Command::Picture => on.number(0),
    }
}

/// Reads what [`put`] wrote.
pub fn get(from: &mut Get<'_>) -> Option<Given> {
    let place = |from: &mut Get<'_>| usize::try_from(from.number()?).ok();
    Some(Given::Command(match from.number()? {
        1 => Command::Attach(place(from)?, get_owner(from)?),
        2 => Command::Detach(place(from)?),
        3 => Command::Evict(place(from)?),
        4 => {
            let file: RecordedFile = serde_json::from_slice(from.bytes()?).ok()?;
            return Some(Given::Limits(Box::new(file.into())));
        }
        5 => return Some(Given::Instrument(place(from)?)),
        6 => Command::Roll,
        7 => Command::Kill(get_scope(from)?),
        8 => Command::Revive(get_scope(from)?),
        9 => Command::Alive,
        10 => {
            let mut part = || Some(from.number()?.checked_sub(1));
            let [user, strategy, account] = [part()?, part()?, part()?];
            let [instrument, side] = [part()?, part()?];
            Command::CancelAll(OrderFilter {
                user: small(user)?.map(UserId),
                strategy: small(strategy)?.map(StrategyId),
                account: small(account)?.map(AccountId),
                instrument: small(instrument)?.map(InstrumentId),
                side: side.map(|side| if side == 0 { Side::Buy } else { Side::Sell }),
            })
        }
        11 => Command::HandOver(get_owner(from)?, get_owner(from)?),
        12 => Command::Stop,
        _ => return None,
    }))
}

/// A number that fits, where there is one.
fn small<N: TryFrom<u64>>(number: Option<u64>) -> Option<Option<N>> {
    number.map(N::try_from).transpose().ok()
}

fn put_owner(owner: Owner, on: &mut Put<'_>) {
    on.number(owner.user.0.into());
    on.number(owner.strategy.0.into());
}

fn get_owner(from: &mut Get<'_>) -> Option<Owner> {
    let user = UserId(u8::try_from(from.number()?).ok()?);
    Some(Owner { user, strategy: StrategyId(u8::try_from(from.number()?).ok()?) })
}

fn put_scope(scope: KillScope, on: &mut Put<'_>) {
    let (kind, number) = match scope {
        KillScope::All => (0, 0),
        KillScope::User(user) => (1, u64::from(user.0)),
        KillScope::Strategy(strategy) => (2, strategy.0.into()),
        KillScope::Account(account) => (3, account.0.into()),
        KillScope::Instrument(instrument) => (4, instrument.0.into()),
    };
    on.number(kind);
    on.number(number);
}

fn get_scope(from: &mut Get<'_>) -> Option<KillScope> {
    let (kind, number) = (from.number()?, from.number()?);
    Some(match kind {
        0 => KillScope::All,
        1 => KillScope::User(UserId(u8::try_from(number).ok()?)),
        2 => KillScope::Strategy(StrategyId(u8::try_from(number).ok()?)),
        3 => KillScope::Account(AccountId(number.try_into().ok()?)),
        4 => KillScope::Instrument(InstrumentId(number.try_into().ok()?)),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use taut_sys::tape::{self, Heard};

    use super::*;
    use crate::service::file::{
        BINANCE_GATEWAY_SAMPLE, DERIBIT_GATEWAY_SAMPLE, GATEWAY_SAMPLE, OKX_GATEWAY_SAMPLE,
    };

    #[test]
    fn a_file_is_recorded_as_it_is() {
        for sample in
            [GATEWAY_SAMPLE, DERIBIT_GATEWAY_SAMPLE, BINANCE_GATEWAY_SAMPLE, OKX_GATEWAY_SAMPLE]
        {
            let mut file: GatewayFile = toml::from_str(sample).expect("a file");
            (file.is_paper, file.room) = (true, Some(7));
            let numbers = vec![InstrumentId(3), InstrumentId(1)];
            file.subscribed = Some(Subscribed { written: 1, numbers });
            let text = serde_json::to_string(&RecordedFile::from(&file)).expect("JSON");
            let again: RecordedFile = serde_json::from_str(&text).expect("a file");
            assert_eq!(GatewayFile::from(again), file);
        }
    }

    #[test]
    fn every_command_is_recorded_as_it_is() {
        let owner = |strategy| Owner { user: UserId(3), strategy: StrategyId(strategy) };
        let filter = OrderFilter {
            account: Some(AccountId(0)),
            side: Some(Side::Sell),
            user: Some(UserId(255)),
            ..OrderFilter::ALL
        };
        let scopes = [
            KillScope::All,
            KillScope::User(UserId(9)),
            KillScope::Strategy(StrategyId(8)),
            KillScope::Account(AccountId(7)),
            KillScope::Instrument(InstrumentId(70_000)),
        ];
        let mut commands = vec![
            Command::Attach(15, owner(1)),
            Command::Detach(0),
            Command::Evict(1),
            Command::Roll,
            Command::Alive,
            Command::CancelAll(filter),
            Command::CancelAll(OrderFilter::ALL),
            Command::HandOver(owner(1), owner(2)),
            Command::Stop,
        ];
        commands.extend(scopes.map(Command::Kill));
        commands.extend(scopes.map(Command::Revive));
        for command in commands {
            tape::begin_writing(true);
            tape::hear(Heard::Command, || (), |(), on| put(&command, on), |_| None);
            let turn = tape::end_writing(|bytes, _| bytes.to_vec());
            tape::begin_reading(&turn);
            let given =
                tape::hear_or(Heard::Command, || None, |_, _| (), |it| Some(get(it)), || None);
            assert_eq!(tape::end_reading(), Ok(()));
            let Some(Given::Command(given)) = given else { panic!("{command:?}: {given:?}") };
            assert_eq!(format!("{given:?}"), format!("{command:?}"));
        }
    }
}
