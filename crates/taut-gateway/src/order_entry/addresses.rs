//! Where the venue takes orders: several addresses by priority.

use taut_sys::Address;

/// The addresses of a venue, and which of them is in turn. The first is the primary one.
///
/// A round tries each address once. It begins with the primary; where a session was up and broke,
/// the address that it was on comes last. So a backup is taken when the primary cannot be reached
/// or dies, and it stays in use until its own connection ends: the primary's return moves nothing.
#[derive(Clone, Debug)]
pub(super) struct Addresses {
    all: Box<[Address]>,
    /// The one that is in turn.
    current: usize,
    /// Tried in this round, the current one too.
    tried: usize,
    /// Attempts to log on that failed one after the other, at each.
    failed_logons: Box<[u32]>,
    /// The one that a session broke on: the last of this round.
    broken: Option<usize>,
}

impl Addresses {
    /// The primary one, and those behind it by priority.
    pub(super) fn new(primary: Address, backups: impl IntoIterator<Item = Address>) -> Self {
        let all: Box<[Address]> = std::iter::once(primary).chain(backups).collect();
        let failed_logons = vec![0; all.len()].into_boxed_slice();
        Self { all, current: 0, tried: 1, failed_logons, broken: None }
    }

    /// The venue is at these addresses now. The one that is in turn stays so where it is among
    /// them; else the primary is.
    pub(super) fn replace(&mut self, all: impl IntoIterator<Item = Address>) {
        let current = self.current();
        let all: Box<[Address]> = all.into_iter().collect();
        if all.is_empty() || all == self.all {
            return;
        }
        let place = all.iter().position(|it| *it == current).unwrap_or(0);
        let failed_logons = vec![0; all.len()].into_boxed_slice();
        *self = Self { all, current: place, tried: 1, failed_logons, broken: None };
    }

    /// The one that is in turn: 0 is the primary.
    pub(super) const fn priority(&self) -> usize {
        self.current
    }

    /// The one that is in turn.
    pub(super) fn current(&self) -> Address {
        self.all[self.current]
    }

    /// Attempts to log on at this address that failed one after the other.
    pub(super) fn failed_logons(&self) -> u32 {
        self.failed_logons[self.current]
    }

    /// The venue let us in there.
    pub(super) fn logged_on(&mut self) {
        self.failed_logons.fill(0);
    }

    /// The connection stood, and ended before the session was up.
    pub(super) fn logon_failed(&mut self) {
        self.failed_logons[self.current] += 1;
    }

    /// The connection could not be made, or not as far as a session. Whether another address of
    /// this round is left, which is in turn now; else the next round begins.
    pub(super) fn failed(&mut self) -> bool {
        if self.tried < self.all.len() {
            self.current = self.place(self.tried);
            self.tried += 1;
            return true;
        }
        self.broken = None;
        self.begin();
        false
    }

    /// A session that was up broke: the next round begins.
    pub(super) fn broke(&mut self) {
        self.broken = Some(self.current);
        self.begin();
    }

    fn begin(&mut self) {
        (self.current, self.tried) = (self.place(0), 1);
    }

    /// Which address comes at this place of a round.
    fn place(&self, at: usize) -> usize {
        match self.broken {
            Some(broken) if at + 1 == self.all.len() => broken,
            Some(broken) if at >= broken => at + 1,
            _ => at,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn three() -> Addresses {
        let address = |port: u16| Address::Inet(([127, 0, 0, 1], port).into());
        Addresses::new(address(1), [address(2), address(3)])
    }

    /// The addresses of a round, from the one that is in turn.
    fn round(addresses: &mut Addresses) -> Vec<usize> {
        let mut round = vec![addresses.priority()];
        while addresses.failed() {
            round.push(addresses.priority());
        }
        round
    }

    #[test]
    fn a_round_tries_each_by_priority_and_the_next_begins_with_the_primary() {
        let mut addresses = three();
        assert_eq!(round(&mut addresses), [0, 1, 2]);
        assert_eq!(round(&mut addresses), [0, 1, 2]);
    }

    #[test]
    fn the_one_that_broke_is_tried_last() {
        for (broken, expected) in [(0, [1, 2, 0]), (1, [0, 2, 1]), (2, [0, 1, 2])] {
            let mut addresses = three();
            (0..broken).for_each(|_| assert!(addresses.failed()));
            assert_eq!(addresses.priority(), broken);
            addresses.broke();
            assert_eq!(round(&mut addresses), expected, "{broken} broke");
            assert_eq!(round(&mut addresses), [0, 1, 2], "after {broken} broke");
        }
    }

    #[test]
    fn a_venue_that_moves_is_tried_where_it_is_now() {
        let address = |port: u16| Address::Inet(([127, 0, 0, 1], port).into());
        let mut addresses = three();
        assert!(addresses.failed());
        // DNS names them in another order each time.
        addresses.replace([address(3), address(2)]);
        assert_eq!((addresses.current(), addresses.priority()), (address(2), 1));
        addresses.replace([address(4), address(5)]);
        assert_eq!((addresses.current(), addresses.priority()), (address(4), 0));
        assert_eq!(round(&mut addresses), [0, 1]);
        addresses.replace([]);
        assert_eq!(addresses.current(), address(4), "it is somewhere");
    }

    #[test]
    fn the_only_address_is_always_in_turn() {
        let mut addresses = Addresses::new(three().current(), []);
        assert!(!addresses.failed());
        addresses.broke();
        assert_eq!((addresses.priority(), addresses.failed()), (0, false));
    }
}
