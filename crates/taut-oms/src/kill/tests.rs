//! The kill switch: every scope, its revival, its timers, and what outlives a restart.

use super::*;
use crate::filter::OrderFilter;
use std::string::ToString;
use std::vec::Vec;
use taut_types::{Lots, Price, Side};

const SCOPES: [KillScope; 5] = [
    KillScope::All,
    KillScope::User(UserId(1)),
    KillScope::Strategy(StrategyId(2)),
    KillScope::Account(AccountId(3)),
    KillScope::Instrument(InstrumentId(4)),
];

fn order() -> (ClientOrderId, OrderTerms) {
    let terms = OrderTerms::limit(InstrumentId(4), Side::Buy, Price(1), Lots(1));
    (ClientOrderId::of(UserId(1), StrategyId(2), 9), OrderTerms { account: AccountId(3), ..terms })
}

fn stranger() -> (ClientOrderId, OrderTerms) {
    let terms = OrderTerms::limit(InstrumentId(0), Side::Buy, Price(1), Lots(1));
    (ClientOrderId::of(UserId(0), StrategyId(0), 9), terms)
}

#[test]
fn each_scope_stops_its_own_orders_until_it_is_revived() {
    for scope in SCOPES {
        let mut switch = KillSwitch::new(8);
        let (id, terms) = order();
        assert_eq!(switch.killed(id, &terms), None);
        assert!(switch.kill(scope, KillCause::Command));
        assert!(!switch.kill(scope, KillCause::Signal), "it is latched");
        assert_eq!(switch.killed(id, &terms), Some(scope.kind()));
        let (id, terms) = stranger();
        assert_eq!(switch.killed(id, &terms).is_some(), scope == KillScope::All);
        assert!(switch.revive(scope) && !switch.revive(scope));
        let (id, terms) = order();
        assert_eq!(switch.killed(id, &terms), None);
    }
}

#[test]
fn one_revival_leaves_the_other_scopes_stopped() {
    let mut switch = KillSwitch::new(8);
    SCOPES.iter().for_each(|scope| assert!(switch.kill(*scope, KillCause::Command)));
    let (id, terms) = order();
    for scope in SCOPES {
        assert_eq!(switch.killed(id, &terms), Some(scope.kind()), "the widest first");
        switch.revive(scope);
    }
    assert_eq!(switch.killed(id, &terms), None);
}

#[test]
fn each_stopped_scope_is_told_once_and_names_its_orders() {
    let mut switch = KillSwitch::new(8);
    SCOPES.iter().for_each(|scope| assert!(switch.kill(*scope, KillCause::Command)));
    let (id, terms) = order();
    for scope in SCOPES {
        assert_eq!(switch.poll_killed(), Some(scope));
        assert!(OrderFilter::from(scope).matches(id, &terms));
    }
    assert_eq!(switch.poll_killed(), None);
    let late = KillScope::User(UserId(200));
    assert!(switch.kill(late, KillCause::Signal) && switch.revive(late));
    assert_eq!(switch.poll_killed(), None, "revived before it was told");
}

#[test]
fn an_instrument_that_there_is_not_cannot_be_stopped() {
    let mut switch = KillSwitch::new(4);
    assert!(!switch.kill(KillScope::Instrument(InstrumentId(4)), KillCause::Command));
    assert!(!switch.kill(KillScope::Instrument(InstrumentId::UNKNOWN), KillCause::Command));
    assert_eq!(switch.latched().count(), 0);
}

#[test]
fn a_timer_that_nobody_refreshes_stops_its_scope() {
    let mut switch = KillSwitch::new(8);
    let (scope, ms) = (SCOPES[2], Nanos::from_millis);
    assert_eq!(switch.poll_timeout(), None);
    assert!(switch.arm(scope, ms(10), ms(0)) && switch.arm(SCOPES[0], ms(100), ms(0)));
    switch.refresh(scope, ms(5));
    assert_eq!(switch.poll_timeout(), Some(ms(15)));
    switch.handle_timeout(ms(14));
    assert_eq!(switch.latched().count(), 0);
    switch.handle_timeout(ms(15));
    let latched: Vec<_> = switch.latched().collect();
    assert_eq!(latched, [Latched { scope, cause: KillCause::DeadMan }]);
    // It does not fire again, and a sign of life does not revive.
    assert!(switch.revive(scope));
    switch.handle_timeout(ms(20));
    assert_eq!(switch.latched().count(), 0);
    switch.refresh(scope, ms(20));
    switch.handle_timeout(ms(30));
    switch.refresh(scope, ms(31));
    assert_eq!(switch.latched().count(), 1);
    switch.disarm(SCOPES[0]);
    switch.disarm(scope);
    assert_eq!(switch.poll_timeout(), None);
}

#[test]
fn there_is_room_for_so_many_timers_and_one_each() {
    let mut switch = KillSwitch::new(0);
    let scope = |id| KillScope::Account(AccountId(id));
    let armed = (0..100).filter(|id| switch.arm(scope(*id), Nanos(1), Nanos(0))).count();
    assert_eq!(armed, 64);
    assert!(switch.arm(scope(0), Nanos(5), Nanos(0)), "armed anew");
}

#[test]
fn what_is_stopped_survives_a_restart() {
    let mut switch = KillSwitch::new(8);
    let causes = [
        KillCause::Command,
        KillCause::Signal,
        KillCause::LossLimit,
        KillCause::DeadMan,
        KillCause::ReferenceData,
    ];
    for (scope, cause) in SCOPES.into_iter().zip(causes) {
        switch.kill(scope, cause);
    }
    let words: Vec<u64> = switch.latched().map(Latched::to_word).collect();
    let mut restored = KillSwitch::new(8);
    restored.restore(words);
    assert!(restored.latched().eq(switch.latched()));
    assert_eq!(restored.poll_killed(), Some(KillScope::All), "told again");
}

#[test]
fn a_word_that_is_none_stops_everything() {
    let written = Latched { scope: SCOPES[4], cause: KillCause::Command }.to_word();
    let flipped = (0..64).map(|bit| written ^ 1 << bit);
    for word in flipped.chain([0, u64::MAX, !written]) {
        let mut switch = KillSwitch::new(8);
        switch.restore([word]);
        let (id, terms) = stranger();
        assert_eq!(switch.killed(id, &terms), Some(ScopeKind::All), "{word:x}");
    }
}

#[test]
fn a_stopped_scope_reads_as_plain_words() {
    assert_eq!(SCOPES[4].to_string(), "instrument 4");
    assert_eq!(KillCause::DeadMan.to_string(), "dead man's timer");
}
