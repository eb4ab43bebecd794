//! What addresses that have not proved themselves may be sent: no more than came from them.

/// What is remembered of what came and was not answered.
const BYTES_MAX: i64 = 1 << 16;

/// One budget for all addresses that have not proved themselves: whoever writes another's address
/// as his own makes it hear no more bytes than he sends. Each datagram that it hears answers one,
/// so that this holds with the headers of UDP and IP, too.
#[derive(Clone, Copy, Debug, Default)]
pub struct Allowance {
    bytes: i64,
}

impl Allowance {
    /// A datagram of so many bytes came from somebody unproved, or what was sent went to somebody
    /// who has proved himself since.
    pub fn earn(&mut self, bytes: usize) {
        let bytes = i64::try_from(bytes).unwrap_or(BYTES_MAX);
        self.bytes = self.bytes.saturating_add(bytes).min(BYTES_MAX);
    }

    /// Whether so many bytes may be sent.
    pub const fn covers(&self, bytes: usize) -> bool {
        self.bytes >= bytes as i64
    }

    /// Takes so many bytes, if they may be sent.
    pub const fn pay(&mut self, bytes: usize) -> bool {
        let covers = self.covers(bytes);
        if covers {
            self.bytes -= bytes as i64;
        }
        covers
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_is_paid_than_came_and_what_came_is_not_saved_for_ever() {
        let mut allowance = Allowance::default();
        allowance.earn(36);
        assert!(!allowance.pay(40), "more than came");
        allowance.earn(4);
        assert!(allowance.pay(40) && !allowance.pay(1));
        (0..100).for_each(|_| allowance.earn(36));
        let paid = (0..100).filter(|_| allowance.pay(40)).count();
        assert_eq!(paid, 90);
        (0..1000).for_each(|_| allowance.earn(65_507));
        assert!(allowance.pay(1 << 16) && !allowance.pay(1));
    }
}
