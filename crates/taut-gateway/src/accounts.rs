//! The accounts, by our numbers and by the venue's names.

use taut_fix::ShortText;
use taut_types::AccountId;

/// The accounts' names at the venue: Account (1). One without a name is not named there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Accounts {
    /// By number.
    names: Vec<Option<ShortText>>,
}

impl Accounts {
    /// These accounts, and no others.
    #[must_use]
    pub fn new(named: &[(AccountId, ShortText)]) -> Self {
        let count = named.iter().map(|(account, _)| usize::from(account.0) + 1).max();
        let mut names = vec![None; count.unwrap_or(0)];
        for (account, name) in named {
            if let Some(place) = names.get_mut(usize::from(account.0)) {
                *place = Some(*name);
            }
        }
        Self { names }
    }

    /// The name of an account.
    #[must_use]
    #[inline]
    pub fn name(&self, account: AccountId) -> Option<ShortText> {
        self.names.get(usize::from(account.0)).copied().flatten()
    }

    /// Whether no account has a name.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// The accounts that have a name.
    #[must_use]
    pub fn all(&self) -> Vec<AccountId> {
        let numbered = (0..=u8::MAX).zip(&self.names);
        let named = numbered.filter(|(_, name)| name.is_some());
        named.map(|(number, _)| AccountId(number)).collect()
    }

    /// The account of this name.
    #[must_use]
    pub fn named(&self, name: &[u8]) -> Option<AccountId> {
        let is_it = |own: &Option<ShortText>| own.is_some_and(|own| own.as_bytes() == name);
        self.names.iter().position(is_it).and_then(|at| u8::try_from(at).ok()).map(AccountId)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers_lead_to_each_other() {
        let text = |name: &str| ShortText::new(name.as_bytes()).unwrap();
        let accounts = Accounts::new(&[(AccountId(3), text("MM1")), (AccountId(1), text("HEDGE"))]);
        assert_eq!(accounts.name(AccountId(3)), Some(text("MM1")));
        assert_eq!([0, 2, 4].map(|account| accounts.name(AccountId(account))), [None; 3]);
        assert_eq!(accounts.named(b"HEDGE"), Some(AccountId(1)));
        assert_eq!(accounts.named(b"OTHER"), None);
        assert_eq!(accounts.all(), [1, 3].map(AccountId));
        assert!(!accounts.is_empty() && Accounts::default().is_empty());
        assert_eq!(Accounts::default().name(AccountId(0)), None);
    }
}
