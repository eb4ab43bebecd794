//! Limits: plain data, prepared aside and swapped in between two orders.

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

use taut_types::{AccountId, InstrumentId, Lots, Nanos, StrategyId, UserId};

use crate::amount::Amount;
use crate::throttle::Rate;

/// How many there are of what limits are for; their numbers start at 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RiskSizes {
    /// Instruments.
    pub instruments: usize,
    /// Accounts, at most 256.
    pub accounts: usize,
    /// Users, at most 256.
    pub users: usize,
    /// Strategies, at most 256.
    pub strategies: usize,
}

/// What one order may be, and the position that it may lead to, in an instrument for an account.
/// The default lets nothing through.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OrderLimits {
    /// How far a price may lie from the market, in parts per million of it.
    pub collar_ppm: u32,
    /// How far it may lie from the last trade; [`OrderLimits::NO_COLLAR`] does not ask for one.
    pub last_trade_collar_ppm: u32,
    /// The largest order.
    pub lots_max: Lots,
    /// The most that an order may be worth; in an inverse contract in what it is settled in.
    pub notional_max: Amount,
    /// The largest long position, with all open buys filled.
    pub long_lots_max: Lots,
    /// The largest short position, with all open sells filled.
    pub short_lots_max: Lots,
}

impl OrderLimits {
    /// Prices are not held against the last trade.
    pub const NO_COLLAR: u32 = u32::MAX;
}

/// New orders and modifies have one budget, cancels another: orders never starve cancels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MessageRates {
    /// New orders and modifies.
    pub orders: Rate,
    /// Cancels.
    pub cancels: Rate,
}

impl MessageRates {
    /// As many as a program can send.
    pub const UNLIMITED: Self = Self { orders: Rate::UNLIMITED, cancels: Rate::UNLIMITED };
}

/// What an account may have at one time. The default lets nothing through.
///
/// Worth and losses are sums over its instruments, whatever each of them is settled in: an inverse
/// contract counts in its coin, and nothing is converted. Instruments that are settled in different
/// currencies belong to different accounts, or these limits mean little.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AccountLimits {
    /// Orders working or on their way.
    pub open_orders_max: u32,
    /// Worth of all positions whatever their direction, each with the open orders that enlarge it.
    pub gross_max: Amount,
    /// Worth of all positions, long less short or short less long, with the open orders of that
    /// direction.
    pub net_max: Amount,
    /// What it may lose, realised and not, since the day began; beyond it the account is killed.
    pub loss_max: Amount,
    /// Messages.
    pub rates: MessageRates,
}

impl AccountLimits {
    /// A profit below this is a loss beyond the limit.
    #[inline]
    pub(super) const fn profit_min(&self) -> Amount {
        Amount(self.loss_max.0.wrapping_neg())
    }
}

/// What a user may send, in any instrument and for any account. The default lets nothing through.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UserLimits {
    /// Orders working or on their way.
    pub open_orders_max: u32,
    /// The largest order.
    pub lots_max: Lots,
    /// The most that an order may be worth.
    pub notional_max: Amount,
    /// Messages.
    pub rates: MessageRates,
}

impl UserLimits {
    /// Nothing but what holds for everybody.
    pub const UNLIMITED: Self = Self {
        open_orders_max: u32::MAX,
        lots_max: Lots(i64::MAX),
        notional_max: Amount::MAX,
        rates: MessageRates::UNLIMITED,
    };

    /// Whether it limits more than messages.
    fn limits_orders(&self) -> bool {
        Self { rates: MessageRates::UNLIMITED, ..*self } != Self::UNLIMITED
    }
}

/// What happens to an order that could trade with an own one (self-match prevention).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SelfMatch {
    /// It may: the venue prevents it, or nobody does.
    Allow,
    /// The new one does not leave.
    #[default]
    CancelNewest,
    /// The resting ones are cancelled, then the new one leaves.
    CancelOldest,
    /// The resting ones are cancelled, and the new one does not leave.
    CancelBoth,
}

/// A number beyond the [`RiskSizes`], or limits that differ more than there are profiles for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LimitsError {
    /// There is no instrument or account with this number.
    UnknownInstrument,
    /// There is no account with this number.
    UnknownAccount,
    /// There is no user with this number.
    UnknownUser,
    /// There is no strategy with this number.
    UnknownStrategy,
    /// Groups of instruments have numbers below 64.
    UnknownGroup,
    /// 65,536 different limits of orders are in use.
    TooManyProfiles,
    /// Limits of other sizes cannot take the place of these.
    OtherSizes,
    /// A lot must be worth something.
    WorthlessLot,
}

impl fmt::Display for LimitsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::UnknownInstrument => "no instrument or account has this number",
            Self::UnknownAccount => "no account has this number",
            Self::UnknownUser => "no user has this number",
            Self::UnknownStrategy => "no strategy has this number",
            Self::UnknownGroup => "groups of instruments have numbers below 64",
            Self::TooManyProfiles => "no more than 65,536 different limits of orders",
            Self::OtherSizes => "limits of other sizes cannot take the place of these",
            Self::WorthlessLot => "a lot must be worth something",
        })
    }
}

impl core::error::Error for LimitsError {}

/// All limits of a gateway. [`RiskLimits::closed`] lets nothing through; what is not set stays so.
#[derive(Clone, Debug)]
pub struct RiskLimits {
    sizes: RiskSizes,
    /// Different limits of orders, the default first.
    profiles: Vec<OrderLimits>,
    /// Which of them hold, by instrument and account.
    profile_of: Box<[u16]>,
    accounts: Box<[AccountLimits]>,
    users: Box<[UserLimits]>,
    /// Whether any of them limits more than messages.
    has_user_limits: bool,
    /// Open orders of each strategy.
    strategies: Box<[u32]>,
    /// Groups of instruments by user and account, one bit each.
    permitted: Box<[u64]>,
    restricted: Box<[bool]>,
    /// Messages to the venue, whoever sends them.
    pub venue: MessageRates,
    /// What happens to an order that could trade with an own one.
    pub self_match: SelfMatch,
    /// An order of a strategy with the terms of one that left no longer ago does not leave; 0
    /// lets it.
    pub duplicate_window: Nanos,
    /// Of a budget of messages, the part in hundredths at which its owner is warned; 0 for never.
    pub rate_warning_percent: u8,
}

impl RiskLimits {
    /// Limits that let nothing through.
    #[must_use]
    pub fn closed(sizes: RiskSizes) -> Self {
        let RiskSizes { instruments, accounts, users, strategies } = sizes;
        Self {
            sizes,
            profiles: vec![OrderLimits::default()],
            profile_of: vec![0; instruments * accounts].into(),
            accounts: vec![AccountLimits::default(); accounts].into(),
            users: vec![UserLimits::default(); users].into(),
            has_user_limits: true,
            strategies: vec![0; strategies].into(),
            permitted: vec![0; users * accounts].into(),
            restricted: vec![false; instruments].into(),
            venue: MessageRates::default(),
            self_match: SelfMatch::default(),
            duplicate_window: Nanos::ZERO,
            rate_warning_percent: 80,
        }
    }

    /// How many there are of what these limits are for.
    #[must_use]
    pub const fn sizes(&self) -> RiskSizes {
        self.sizes
    }

    /// Limits of orders where no others are set.
    pub fn set_orders_default(&mut self, limits: OrderLimits) {
        if let Some(default) = self.profiles.first_mut() {
            *default = limits;
        }
    }

    /// Limits of orders in an instrument for an account.
    ///
    /// # Errors
    /// When there is no such instrument or account, or too many different limits.
    pub fn set_orders(
        &mut self,
        instrument: InstrumentId,
        account: AccountId,
        limits: OrderLimits,
    ) -> Result<(), LimitsError> {
        let cell = self.sizes.cell(instrument, account).ok_or(LimitsError::UnknownInstrument)?;
        let same = self.profiles.iter().skip(1).position(|profile| *profile == limits);
        let profile = same.map_or(self.profiles.len(), |place| place + 1);
        let number = u16::try_from(profile).map_err(|_| LimitsError::TooManyProfiles)?;
        if profile == self.profiles.len() {
            self.profiles.push(limits);
        }
        set(&mut self.profile_of, cell, number, LimitsError::UnknownInstrument)
    }

    /// Limits of every account.
    pub fn set_accounts(&mut self, limits: AccountLimits) {
        self.accounts.fill(limits);
    }

    /// Limits of an account.
    ///
    /// # Errors
    /// When there is no such account.
    pub fn set_account(
        &mut self,
        account: AccountId,
        limits: AccountLimits,
    ) -> Result<(), LimitsError> {
        set(&mut self.accounts, account.0.into(), limits, LimitsError::UnknownAccount)
    }

    /// Limits of every user.
    pub fn set_users(&mut self, limits: UserLimits) {
        self.users.fill(limits);
        self.has_user_limits = limits.limits_orders();
    }

    /// Limits of a user.
    ///
    /// # Errors
    /// When there is no such user.
    pub fn set_user(&mut self, user: UserId, limits: UserLimits) -> Result<(), LimitsError> {
        self.has_user_limits |= limits.limits_orders();
        set(&mut self.users, user.0.into(), limits, LimitsError::UnknownUser)
    }

    /// Open orders of every strategy.
    pub fn set_strategies(&mut self, open_orders_max: u32) {
        self.strategies.fill(open_orders_max);
    }

    /// Open orders of a strategy.
    ///
    /// # Errors
    /// When there is no such strategy.
    pub fn set_strategy(
        &mut self,
        strategy: StrategyId,
        open_orders_max: u32,
    ) -> Result<(), LimitsError> {
        let unknown = LimitsError::UnknownStrategy;
        set(&mut self.strategies, strategy.0.into(), open_orders_max, unknown)
    }

    /// Lets every user trade everything for every account.
    pub fn permit_all(&mut self) {
        self.permitted.fill(u64::MAX);
    }

    /// Lets a user trade a group of instruments for an account, or no longer.
    ///
    /// # Errors
    /// When there is no such user, account or group.
    pub fn permit(
        &mut self,
        user: UserId,
        account: AccountId,
        group: u8,
        is_permitted: bool,
    ) -> Result<(), LimitsError> {
        let group = 1_u64.checked_shl(group.into()).ok_or(LimitsError::UnknownGroup)?;
        let place = self.sizes.permission(user, account).ok_or(LimitsError::UnknownUser)?;
        let groups = self.permitted.get_mut(place).ok_or(LimitsError::UnknownUser)?;
        *groups = if is_permitted { *groups | group } else { *groups & !group };
        Ok(())
    }

    /// Puts an instrument on the restricted list, or takes it off.
    ///
    /// # Errors
    /// When there is no such instrument.
    pub fn set_restricted(
        &mut self,
        instrument: InstrumentId,
        is_restricted: bool,
    ) -> Result<(), LimitsError> {
        let place = instrument.0 as usize;
        set(&mut self.restricted, place, is_restricted, LimitsError::UnknownInstrument)
    }

    #[inline]
    pub(super) fn orders(&self, cell: usize) -> Option<&OrderLimits> {
        self.profiles.get(usize::from(*self.profile_of.get(cell)?))
    }

    /// The limits of orders in an instrument for an account.
    #[must_use]
    pub fn orders_of(&self, instrument: InstrumentId, account: AccountId) -> Option<&OrderLimits> {
        self.orders(self.sizes.cell(instrument, account)?)
    }

    /// The limits of an account.
    #[must_use]
    #[inline]
    pub fn account(&self, account: AccountId) -> Option<&AccountLimits> {
        self.accounts.get(usize::from(account.0))
    }

    /// The limits of a user.
    #[must_use]
    #[inline]
    pub fn user(&self, user: UserId) -> Option<&UserLimits> {
        self.users.get(usize::from(user.0))
    }

    /// Whether any user has limits of its own; where none has, no check looks for them.
    #[inline]
    pub(super) const fn has_user_limits(&self) -> bool {
        self.has_user_limits
    }

    /// The open orders that a strategy may have.
    #[must_use]
    #[inline]
    pub fn strategy(&self, strategy: StrategyId) -> u32 {
        self.strategies.get(usize::from(strategy.0)).copied().unwrap_or(0)
    }

    /// Whether a user may trade a group of instruments for an account.
    #[must_use]
    #[inline]
    pub fn permits(&self, user: UserId, account: AccountId, group: u8) -> bool {
        let groups = self.sizes.permission(user, account).and_then(|at| self.permitted.get(at));
        groups.is_some_and(|groups| groups & 1 << (group & 63) != 0)
    }

    /// Whether an instrument is on the restricted list.
    #[must_use]
    #[inline]
    pub fn is_restricted(&self, instrument: InstrumentId) -> bool {
        self.restricted.get(instrument.0 as usize).is_none_or(|is_restricted| *is_restricted)
    }

    pub(super) fn users(&self) -> impl Iterator<Item = &UserLimits> {
        self.users.iter()
    }

    pub(super) fn accounts(&self) -> impl Iterator<Item = &AccountLimits> {
        self.accounts.iter()
    }
}

impl RiskSizes {
    /// The place of an instrument and an account in tables of both.
    #[inline]
    pub(super) fn cell(self, instrument: InstrumentId, account: AccountId) -> Option<usize> {
        let (instrument, account) = (instrument.0 as usize, usize::from(account.0));
        let is_known = instrument < self.instruments && account < self.accounts;
        is_known.then(|| instrument * self.accounts + account)
    }

    #[inline]
    fn permission(self, user: UserId, account: AccountId) -> Option<usize> {
        let (user, account) = (usize::from(user.0), usize::from(account.0));
        (account < self.accounts).then_some(user * self.accounts + account)
    }
}

fn set<T>(
    table: &mut [T],
    place: usize,
    value: T,
    unknown: LimitsError,
) -> Result<(), LimitsError> {
    *table.get_mut(place).ok_or(unknown)? = value;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZES: RiskSizes = RiskSizes { instruments: 2_000, accounts: 8, users: 4, strategies: 4 };

    #[test]
    fn equal_limits_of_orders_share_a_profile() {
        let mut limits = RiskLimits::closed(SIZES);
        let wide = OrderLimits { lots_max: Lots(7), ..OrderLimits::default() };
        for instrument in 0..2_000 {
            limits.set_orders(InstrumentId(instrument), AccountId(7), wide).unwrap();
        }
        assert_eq!(limits.profiles.len(), 2);
        assert_eq!(limits.orders(8 * 1_999 + 7), Some(&wide));
        assert_eq!(limits.orders(8 * 1_999 + 6), Some(&OrderLimits::default()));
        assert_eq!(limits.orders(16_000), None);
    }

    #[test]
    fn the_default_moves_what_has_no_limits_of_its_own() {
        let mut limits = RiskLimits::closed(SIZES);
        let narrow = OrderLimits { lots_max: Lots(1), ..OrderLimits::default() };
        limits.set_orders(InstrumentId(0), AccountId(0), OrderLimits::default()).unwrap();
        limits.set_orders_default(narrow);
        assert_eq!(limits.orders(0), Some(&OrderLimits::default()));
        assert_eq!(limits.orders(1), Some(&narrow));
    }

    #[test]
    fn numbers_that_there_are_not_are_refused() {
        let mut limits = RiskLimits::closed(SIZES);
        let order = OrderLimits::default();
        let unknown = Err(LimitsError::UnknownInstrument);
        assert_eq!(limits.set_orders(InstrumentId(2_000), AccountId(0), order), unknown);
        assert_eq!(limits.set_orders(InstrumentId(0), AccountId(8), order), unknown);
        assert_eq!(limits.set_restricted(InstrumentId::UNKNOWN, true), unknown);
        let unknown = Err(LimitsError::UnknownAccount);
        assert_eq!(limits.set_account(AccountId(8), AccountLimits::default()), unknown);
        let unknown = Err(LimitsError::UnknownUser);
        assert_eq!(limits.set_user(UserId(4), UserLimits::default()), unknown);
        assert_eq!(limits.permit(UserId(4), AccountId(0), 0, true), unknown);
        assert_eq!(limits.permit(UserId(0), AccountId(8), 0, true), unknown);
        let group = limits.permit(UserId(0), AccountId(0), 64, true);
        assert_eq!(group, Err(LimitsError::UnknownGroup));
        let strategy = limits.set_strategy(StrategyId(4), 1);
        assert_eq!(strategy, Err(LimitsError::UnknownStrategy));
    }

    #[test]
    fn a_permission_is_of_a_user_an_account_and_a_group() {
        let mut limits = RiskLimits::closed(SIZES);
        limits.permit(UserId(3), AccountId(7), 63, true).unwrap();
        assert!(limits.permits(UserId(3), AccountId(7), 63));
        for (user, account, group) in [(2, 7, 63), (3, 6, 63), (3, 7, 62), (4, 7, 63), (3, 8, 63)] {
            assert!(!limits.permits(UserId(user), AccountId(account), group));
        }
        limits.permit(UserId(3), AccountId(7), 63, false).unwrap();
        assert!(!limits.permits(UserId(3), AccountId(7), 63));
    }
}
