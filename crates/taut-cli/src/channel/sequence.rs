//! Which sequence numbers came: once, twice, late or never.

/// How far behind the newest a late number is told from one that came twice.
const WINDOW: u64 = 1 << 20;

/// The account of a stream that begins with sequence 0, of which the first numbers may have been
/// sent before anybody listened.
#[derive(Debug)]
pub struct Account {
    /// One bit for each of the last [`WINDOW`] numbers: whether it came.
    seen: Box<[u64]>,
    /// Behind the newest number that came.
    next: u64,
    /// Different numbers that came.
    unique: u64,
    duplicated: u64,
    out_of_order: u64,
    /// Numbers below this one were sent before anybody listened.
    border: u64,
    /// Of these, the ones that came after all.
    late_before: u64,
    /// What the sender says it sent.
    final_count: Option<u64>,
}

impl Account {
    pub fn new() -> Self {
        let seen = vec![0; (WINDOW / 64) as usize].into_boxed_slice();
        let (next, unique, duplicated, out_of_order) = (0, 0, 0, 0);
        let (border, late_before, final_count) = (0, 0, None);
        Self { seen, next, unique, duplicated, out_of_order, border, late_before, final_count }
    }

    /// Numbers below this one were sent before anybody listened: they are not lost.
    pub fn begin(&mut self, sequence: u64) {
        if self.unique == 0 {
            (self.border, self.next) = (sequence, sequence);
        }
    }

    /// A number came.
    #[inline]
    pub fn note(&mut self, sequence: u64) {
        if sequence == self.next {
            self.mark(sequence);
            self.next += 1;
            self.unique += 1;
            return;
        }
        self.note_unexpected(sequence);
    }

    #[cold]
    fn note_unexpected(&mut self, sequence: u64) {
        if sequence > self.next {
            // What is skipped has not come yet. A wild number costs one sweep of the window.
            let skipped_from = self.next.max(sequence.saturating_sub(WINDOW));
            (skipped_from..sequence).for_each(|number| self.clear(number));
            self.mark(sequence);
            self.next = sequence.saturating_add(1);
            self.unique += 1;
        } else if self.next - sequence > WINDOW || self.is_marked(sequence) {
            self.duplicated += 1;
        } else {
            self.mark(sequence);
            self.late_before += u64::from(sequence < self.border);
            self.unique += 1;
            self.out_of_order += 1;
        }
    }

    /// The sender's final count came.
    pub fn end(&mut self, count: u64) {
        self.final_count = Some(count);
    }

    /// Whether the end came, and everything before it.
    pub const fn is_complete(&self) -> bool {
        matches!(self.final_count, Some(count) if self.unique + self.before() >= count)
    }

    /// Numbers that did not come, as far as is known.
    pub fn lost(&self) -> u64 {
        self.final_count.unwrap_or(0).max(self.next).saturating_sub(self.unique + self.before())
    }

    /// Numbers that were sent before anybody listened, and did not come.
    pub const fn before(&self) -> u64 {
        self.border - self.late_before
    }

    /// Different numbers that came.
    pub const fn received(&self) -> u64 {
        self.unique
    }

    pub const fn duplicated(&self) -> u64 {
        self.duplicated
    }

    pub const fn out_of_order(&self) -> u64 {
        self.out_of_order
    }

    #[inline]
    fn place(&mut self, sequence: u64) -> (&mut u64, u64) {
        let bit = sequence % WINDOW;
        (&mut self.seen[(bit / 64) as usize], 1 << (bit % 64))
    }

    #[inline]
    fn mark(&mut self, sequence: u64) {
        let (word, bit) = self.place(sequence);
        *word |= bit;
    }

    fn clear(&mut self, sequence: u64) {
        let (word, bit) = self.place(sequence);
        *word &= !bit;
    }

    fn is_marked(&mut self, sequence: u64) -> bool {
        let (word, bit) = self.place(sequence);
        *word & bit != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account(numbers: &[u64], end: Option<u64>) -> (u64, u64, u64, u64) {
        let mut account = Account::new();
        numbers.iter().for_each(|number| account.note(*number));
        end.into_iter().for_each(|count| account.end(count));
        let (duplicated, out_of_order) = (account.duplicated(), account.out_of_order());
        (account.received(), account.lost(), duplicated, out_of_order)
    }

    #[test]
    fn every_number_is_received_lost_or_both_accounts_know_why() {
        assert_eq!(account(&[0, 1, 2], None), (3, 0, 0, 0));
        assert_eq!(account(&[0, 1, 2], Some(4)), (3, 1, 0, 0), "the lost last one is known");
        assert_eq!(account(&[2], None), (1, 2, 0, 0), "loss counts from 0");
        assert_eq!(account(&[0, 2, 1, 3], Some(4)), (4, 0, 0, 1));
        assert_eq!(account(&[0, 1, 1, 0, 2], Some(3)), (3, 0, 2, 0));
        assert_eq!(account(&[], Some(5)), (0, 5, 0, 0));
        assert_eq!(account(&[0, 5 * WINDOW, 5 * WINDOW - 1, 1], None).2, 1, "1 is too old to tell");
        assert_eq!(account(&[u64::MAX], None).0, 1);
    }

    #[test]
    fn what_was_sent_before_anybody_listened_is_not_lost() {
        let mut account = Account::new();
        account.begin(100);
        [100, 101, 103].into_iter().for_each(|number| account.note(number));
        assert_eq!((account.received(), account.lost(), account.before()), (3, 1, 100));
        account.note(99);
        assert_eq!((account.received(), account.lost(), account.before()), (4, 1, 99));
        account.begin(5);
        account.end(104);
        assert!(!account.is_complete());
        account.note(102);
        assert!(account.is_complete() && account.lost() == 0 && account.out_of_order() == 2);
        let mut none = Account::new();
        none.begin(7);
        none.end(7);
        assert!(none.is_complete() && none.lost() == 0);
    }

    #[test]
    fn late_numbers_of_before_hide_no_loss() {
        let mut account = Account::new();
        account.begin(100);
        [100, 50, 98].into_iter().for_each(|number| account.note(number));
        assert_eq!((account.received(), account.lost(), account.before()), (3, 0, 98));
        account.note(102);
        account.end(103);
        assert_eq!((account.lost(), account.is_complete()), (1, false), "101 is lost");
        account.note(99);
        assert_eq!((account.lost(), account.is_complete()), (1, false));
        account.note(101);
        assert!(account.is_complete() && account.lost() == 0);
    }

    #[test]
    fn a_window_that_wraps_tells_late_from_twice() {
        let mut account = Account::new();
        let late = WINDOW + 10;
        (0..WINDOW + 20).filter(|number| *number != late).for_each(|number| account.note(number));
        assert_eq!((account.lost(), account.duplicated()), (1, 0));
        account.note(late);
        account.note(late);
        assert_eq!((account.lost(), account.duplicated(), account.out_of_order()), (0, 1, 1));
    }
}
