//! What clients hold, by their trades since the venue began.

use taut_fix::ShortText;
use taut_types::{Lots, Side};

use crate::identity::ClientId;

/// Positions of a client, by instrument and Account (1), beyond which its trades count under no
/// account: of those there is one for each instrument at the most.
pub const POSITIONS_MAX: usize = 4_096;

/// What a client holds of an instrument under an Account (1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Holding {
    /// The place of the instrument.
    pub place: usize,
    pub account: Option<ShortText>,
    /// Bought less sold, and never zero.
    pub lots: Lots,
}

/// Bought less sold. Clients keep it over all their sessions.
#[derive(Debug)]
pub struct Holdings {
    /// By their places, each client's in the order of their keys.
    of_clients: Vec<Vec<Holding>>,
    /// A client's positions at the most.
    capacity: usize,
}

impl Holdings {
    /// Of so many instruments.
    pub const fn new(instrument_count: usize) -> Self {
        Self { of_clients: Vec::new(), capacity: POSITIONS_MAX + instrument_count }
    }

    /// How many clients have had a place.
    pub const fn clients(&self) -> usize {
        self.of_clients.len()
    }

    /// Forgets all of it.
    pub fn clear(&mut self) {
        self.of_clients.clear();
    }

    /// Takes the memory for a client's positions, so that trades take none.
    pub fn reserve(&mut self, client: ClientId) {
        let capacity = self.capacity;
        let held = self.of(client);
        held.reserve_exact(capacity.saturating_sub(held.len()));
    }

    /// Gives back what a client's positions do not need.
    pub fn shrink(&mut self, client: ClientId) {
        self.of(client).shrink_to_fit();
    }

    /// Counts a trade of an instrument under an account. A position that is flat is forgotten. A
    /// new account beyond [`POSITIONS_MAX`] counts as none: the client's sum over all accounts is
    /// right in any case. Cost: a binary search; what lies behind a position that comes or goes is
    /// moved, 200 KB at the worst.
    pub fn traded(
        &mut self,
        client: ClientId,
        account: Option<ShortText>,
        place: usize,
        side: Side,
        lots: Lots,
    ) {
        let held = self.of(client);
        let signed = Lots(lots.0.saturating_mul(side.sign()));
        let mut account = account;
        let mut found = find(held, place, account);
        if found.is_err() && held.len() >= POSITIONS_MAX {
            account = None;
            found = find(held, place, account);
        }
        match found {
            Ok(at) => {
                let Some(position) = held.get_mut(at) else { return };
                position.lots.0 = position.lots.0.saturating_add(signed.0);
                if position.lots == Lots::ZERO {
                    held.remove(at);
                }
            }
            Err(_) if signed == Lots::ZERO => {}
            Err(at) => held.insert(at, Holding { place, account, lots: signed }),
        }
    }

    /// What a client holds in an account, or in all of them, by the place of the instrument.
    pub fn held(
        &self,
        client: ClientId,
        account: Option<ShortText>,
    ) -> impl Iterator<Item = &Holding> + Clone {
        let all = self.of_clients.get(client.0).into_iter().flatten();
        all.filter(move |it| account.is_none() || it.account == account)
    }

    fn of(&mut self, client: ClientId) -> &mut Vec<Holding> {
        if self.of_clients.len() <= client.0 {
            self.of_clients.resize_with(client.0 + 1, Vec::new);
        }
        &mut self.of_clients[client.0]
    }
}

/// By instrument, then by account: what is under none comes first.
fn key(place: usize, account: Option<&ShortText>) -> (usize, Option<&[u8]>) {
    (place, account.map(ShortText::as_bytes))
}

/// Where a position is, or would be.
fn find(held: &[Holding], place: usize, account: Option<ShortText>) -> Result<usize, usize> {
    let sought = key(place, account.as_ref());
    held.binary_search_by(|it| key(it.place, it.account.as_ref()).cmp(&sought))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use taut_testkit::{Draw, for_each_seed};

    use super::*;

    const ALPHA: ClientId = ClientId(0);
    const BETA: ClientId = ClientId(3);
    const PLACES: usize = 3;

    fn account(number: u64) -> Option<ShortText> {
        Some(ShortText::from_u64(number))
    }

    fn all(holdings: &Holdings, client: ClientId) -> Vec<(usize, Option<u64>, i64)> {
        let number = |name: ShortText| name.to_u64();
        let held = holdings.held(client, None);
        held.map(|it| (it.place, it.account.and_then(number), it.lots.0)).collect()
    }

    #[test]
    fn a_client_that_names_a_new_account_each_time_grows_to_the_bound_and_no_further() {
        let mut holdings = Holdings::new(PLACES);
        holdings.traded(BETA, account(1), 1, Side::Sell, Lots(5));
        holdings.reserve(ALPHA);
        let room = holdings.of(ALPHA).capacity();
        assert_eq!(room, POSITIONS_MAX + PLACES);
        let names = 3 * POSITIONS_MAX as u64;
        for number in 0..names {
            let place = usize::from(number % 2 == 0);
            holdings.traded(ALPHA, account(number), place, Side::Buy, Lots(2));
        }
        let held = all(&holdings, ALPHA);
        // One under no account for each of the two instruments.
        assert_eq!(held.len(), POSITIONS_MAX + 2);
        assert_eq!(holdings.of(ALPHA).capacity(), room);
        assert_eq!(held.iter().map(|it| it.2).sum::<i64>(), 2 * names as i64);
        // An account that was there before the bound is counted on.
        holdings.traded(ALPHA, account(1), 0, Side::Buy, Lots(7));
        let first: Vec<_> = holdings.held(ALPHA, account(1)).map(|it| it.lots.0).collect();
        assert_eq!(first, [9]);
        assert_eq!(all(&holdings, BETA), [(1, Some(1), -5)]);
    }

    #[test]
    fn accounts_that_come_and_go_leave_nothing_behind() {
        let mut holdings = Holdings::new(PLACES);
        for number in 0..3 * POSITIONS_MAX as u64 {
            holdings.traded(ALPHA, account(number), 0, Side::Buy, Lots(2));
            holdings.traded(ALPHA, account(number), 0, Side::Sell, Lots(2));
        }
        assert_eq!(all(&holdings, ALPHA), []);
        assert!(holdings.of(ALPHA).capacity() < 16);
    }

    #[test]
    fn positions_are_those_of_a_map() {
        for_each_seed(0..20, |_, mut random| {
            let mut holdings = Holdings::new(PLACES);
            let mut twin = BTreeMap::<_, i64>::new();
            for _ in 0..300 {
                let client = random.below(3) as usize;
                let name = Some(random.below(4)).filter(|name| *name > 0);
                let place = random.below(PLACES as u64) as usize;
                let (side, lots) = (random.pick(&Side::BOTH), random.below(3) as i64);
                let account = name.map(ShortText::from_u64);
                holdings.traded(ClientId(client), account, place, side, Lots(lots));
                *twin.entry((client, place, name)).or_default() += lots * side.sign();
                let told = twin.iter().filter(|(key, lots)| key.0 == client && **lots != 0);
                let told: Vec<_> =
                    told.map(|(&(_, place, name), lots)| (place, name, *lots)).collect();
                assert_eq!(all(&holdings, ClientId(client)), told);
            }
        });
    }
}
