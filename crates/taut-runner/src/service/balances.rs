//! What accounts have of each currency, from a gateway's file.

use taut_oms::{Balance, Balances, Settlement};
use taut_types::{AccountId, Symbol};

use crate::error::RunnerError;
use crate::service::file::GatewayFile;
use crate::settings::InstrumentSettings;

/// The balances that a file follows: those of the accounts that it says them of.
///
/// # Errors
/// Every currency that is none.
pub fn balances(file: &GatewayFile) -> Result<Balances, Vec<RunnerError>> {
    let mut mistakes = Vec::new();
    let mut currency = |key: String, text: &str| {
        let symbol = Symbol::new(text.as_bytes());
        if symbol.is_none() {
            mistakes.push(RunnerError::setting(&key, text, "1 to 15 letters without a space"));
        }
        symbol
    };
    let mut settlements = Vec::with_capacity(file.instruments_max());
    for (at, instrument) in file.instruments.iter().enumerate() {
        let mut named =
            |key: &str, text: Option<&String>| currency(format!("instruments[{at}].{key}"), text?);
        let quote = named("currency", instrument.currency.as_ref());
        let base = named("base", instrument.base.as_ref());
        settlements.push(quote.map(|quote| Settlement { quote, base }));
    }
    // Nothing is known yet of those that may come.
    settlements.resize(file.instruments_max().max(settlements.len()), None);
    let mut balances = Vec::new();
    for (at, account) in file.accounts.iter().enumerate() {
        for (name, amount) in &account.balances {
            let currency = currency(format!("accounts[{at}].balances"), name);
            let (account, amount) = (AccountId(account.id), amount.0);
            balances.extend(currency.map(|currency| Balance { account, currency, amount }));
        }
    }
    if mistakes.is_empty() { Ok(Balances::new(&balances, &settlements)) } else { Err(mistakes) }
}

/// How an instrument of a file that was checked is settled, where the file says it.
pub fn settlement(instrument: &InstrumentSettings) -> Option<Settlement> {
    let named = |text: &Option<String>| Symbol::new(text.as_ref()?.as_bytes());
    let quote = named(&instrument.currency)?;
    Some(Settlement { quote, base: named(&instrument.base) })
}

#[cfg(test)]
mod tests {
    use taut_oms::Amount;

    use super::*;
    use crate::service::file::GATEWAY_SAMPLE;

    fn file(text: &str) -> GatewayFile {
        toml::from_str(text).expect("a file")
    }

    #[test]
    fn balances_and_currencies_are_taken_and_what_is_none_is_named() {
        let text = GATEWAY_SAMPLE
            .replace("tick = \"0.01\"", "tick = \"0.01\"\ncurrency = \"USD\"\nbase = \"TAUT\"");
        let account = |balances: &str| {
            format!("{text}\n[[accounts]]\nname = \"MM1\"\nid = 1\nbalances = {balances}\n")
        };
        let read = balances(&file(&account("{ USD = \"1000.5\", TAUT = 7 }"))).expect("balances");
        let has = |name: &[u8]| read.get(AccountId(1), Symbol::new(name).expect("a name"));
        assert_eq!(has(b"TAUT"), Some(Amount::whole(7)));
        assert_eq!(has(b"USD").map(|it| it.to_string()), Some("1000.5".to_owned()));
        let wrong = balances(&file(&account("{ \"US DOLLARS\" = 1 }"))).expect_err("no currency");
        assert!(wrong[0].to_string().contains("accounts[0].balances = US DOLLARS"), "{wrong:?}");
        assert!(balances(&file(GATEWAY_SAMPLE)).expect("none").is_empty());
    }
}
