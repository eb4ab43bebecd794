//! Entries as words.
//!
//! | kind | entry | payload, a word each |
//! |---|---|---|
//! | 1 | create | order; tag; terms |
//! | 2, 5 | modify, replaced | order; version; price; lots |
//! | 3, 7 | cancel, cancelled | order; version |
//! | 4 | acknowledged | order; version; name |
//! | 6, 35 | filled, execution | order; key; price; lots; name |
//! | 8, 12 | expired, highest number | order |
//! | 9 | rejected | order; version and (bits 32..) reason |
//! | 10 | position | key; lots; bought; sold; cost, realised, fees (each low, high) |
//! | 11 | kill switch | word; 1 when latched |
//! | 13 | filled, which cost something | as filled; fee (low, high) |
//! | 14 | rolled | as position; earned before (low, high) |
//! | 15 | day | its number |
//! | 16 | handed over | order; owner |
//! | 33 | open order | order; tag, versions (bits 32.., 48..); filled; worth (2); terms; name |
//! | 34 | unanswered | order; version and (bit 16) whether it is a modify; price; lots |
//! | 36 | end of the checkpoint | as of |
//!
//! Terms: a key, whose bits 44.. hold type (4), time in force (4), flags (8) and whether there is a
//! stop price (1); price; stop price; lots; lots shown. Key: instrument (32), account (8), side
//! (4), of a trade whether its contract is inverse (1), whether its order was handed over (1) and,
//! in bits 48.., to whom; of a position instrument (32), account, strategy, user (8 each). Owner:
//! strategy, user (8 each). Name: its length in the first byte, then its bytes. What a kind has no
//! use for is 0; anything else is not that entry.

use taut_oms::{Amount, Owner, Position, PositionKey};
use taut_types::{
    AccountId, ClientOrderId, InstrumentId, Lots, OrderFlags, OrderTerms, OrderType, Price,
    RequestId, Side, StrategyId, TimeInForce, UserId,
};

use crate::entry::{Asked, Entry, Fill, OrderRecord, VenueId};

/// The longest payload.
pub const PAYLOAD_WORDS_MAX: usize = 15;
const TERMS_WORDS: usize = 5;
const NAME_WORDS: usize = 5;

/// Changes when the table above does: FNV-1a of what it says.
pub const SCHEMA: u64 = {
    let text = b"1:o,t,T 2:o,v,p,l 3:o,v 4:o,v,N 5:o,v,p,l 6:o,kiO,p,l,N 7:o,v 8:o 9:o,vr \
        10:K,l,b,s,c,c,r,r,f,f 11:w,b 12:o 13:o,kiO,p,l,N,f,f 14:K,l,b,s,c,c,r,r,f,f,e,e \
        15:d 16:o,O 33:o,tvv,f,w,w,T,N \
        34:o,vm,p,l 35:o,kiO,p,l,N 36:s";
    let (mut hash, mut at) = (0xcbf2_9ce4_8422_2325_u64, 0);
    while let Some((_, rest)) = text.split_at_checked(at) {
        let Some(byte) = rest.first() else { break };
        hash = (hash ^ *byte as u64).wrapping_mul(0x0100_0000_01b3);
        at += 1;
    }
    hash
};

pub type Payload = [u64; PAYLOAD_WORDS_MAX];

impl Entry {
    /// Writes the payload; returns kind and length in words.
    #[inline]
    pub(crate) fn pack(&self, out: &mut Payload) -> (u16, usize) {
        let mut to = Cursor { out, at: 0 };
        let kind = match self {
            Self::Create { order, tag, terms } => {
                to.word(order.0);
                to.word(u64::from(*tag));
                to.terms(terms);
                1
            }
            Self::Modify { request, price, lots } => {
                to.change(*request, *price, *lots);
                2
            }
            Self::Cancel { request } => {
                to.request(*request);
                3
            }
            Self::Acknowledged { request, venue_id } => {
                to.request(*request);
                to.name(venue_id);
                4
            }
            Self::Replaced { request, price, lots } => {
                to.change(*request, *price, *lots);
                5
            }
            Self::Filled(fill) => {
                to.fill(fill);
                if fill.fee == Amount::ZERO {
                    6
                } else {
                    to.wide(fill.fee.0);
                    13
                }
            }
            Self::Cancelled { request } => {
                to.request(*request);
                7
            }
            Self::Expired { order } => {
                to.word(order.0);
                8
            }
            Self::Rejected { request, reason } => {
                to.word(request.order.0);
                to.word(u64::from(request.version) | u64::from(*reason) << 32);
                9
            }
            Self::Position(key, position) => {
                to.position(key, position);
                10
            }
            Self::Rolled(key, position, earned) => {
                to.position(key, position);
                to.wide(earned.0);
                14
            }
            Self::Day(day) => {
                to.word(u64::from(*day));
                15
            }
            Self::HandedOver { order, to: owner } => {
                to.word(order.0);
                to.word(owner_bits(*owner));
                16
            }
            Self::KillSwitch { word, is_latched } => {
                to.word(*word);
                to.word(u64::from(*is_latched));
                11
            }
            Self::HighestNumber(order) => {
                to.word(order.0);
                12
            }
            Self::OpenOrder(order) => {
                to.order(order);
                33
            }
            Self::Unanswered { request, asked } => {
                let (modify, price, lots) = match asked {
                    Asked::Modify { price, lots } => (1, *price, *lots),
                    Asked::Cancel => (0, Price(0), Lots::ZERO),
                };
                to.word(request.order.0);
                to.word(u64::from(request.version) | modify << 16);
                to.signed(price.0);
                to.signed(lots.0);
                34
            }
            Self::Execution(fill) => {
                to.fill(fill);
                35
            }
            Self::CheckpointEnd { as_of } => {
                to.word(*as_of);
                36
            }
        };
        (kind, to.at)
    }

    /// The entry with this kind and payload; `None` for words that are none.
    pub(crate) fn unpack(kind: u16, payload: &[u64]) -> Option<Self> {
        let mut from = Words(payload);
        let entry = match kind {
            1 => {
                let order = from.id()?;
                let tag = u32::try_from(from.word()?).ok()?;
                Self::Create { order, tag, terms: from.terms()? }
            }
            2 | 5 => {
                let (request, price, lots) = (from.request()?, from.price()?, from.lots()?);
                if kind == 2 {
                    Self::Modify { request, price, lots }
                } else {
                    Self::Replaced { request, price, lots }
                }
            }
            3 => Self::Cancel { request: from.request()? },
            4 => Self::Acknowledged { request: from.request()?, venue_id: from.name()? },
            6 => Self::Filled(from.fill()?),
            7 => Self::Cancelled { request: from.request()? },
            8 => Self::Expired { order: from.id()? },
            9 => {
                let (order, word) = (from.id()?, from.word()?);
                let version = u16::try_from(word & 0xffff_ffff).ok()?;
                let reason = (word >> 32) as u32;
                Self::Rejected { request: RequestId { order, version }, reason }
            }
            10 | 14 => {
                let key = from.position_key()?;
                let lots = [from.lots()?.0, from.lots()?.0, from.lots()?.0];
                let amounts = [from.wide()?, from.wide()?, from.wide()?];
                let position = Position::from_numbers(lots, amounts);
                if kind == 10 {
                    Self::Position(key, position)
                } else {
                    Self::Rolled(key, position, Amount(from.wide()?))
                }
            }
            15 => Self::Day(u32::try_from(from.word()?).ok()?),
            16 => {
                let order = from.id()?;
                let owner = u16::try_from(from.word()?).ok()?;
                Self::HandedOver { order, to: owner_of(owner) }
            }
            11 => Self::KillSwitch { word: from.word()?, is_latched: from.flag()? },
            12 => Self::HighestNumber(from.id()?),
            13 => {
                let (fill, fee) = (from.fill()?, Amount(from.wide()?));
                // Without a fee it is written as the other one.
                let fill = Fill { fee, ..fill };
                Self::Filled(Some(fill).filter(|fill| fill.fee != Amount::ZERO)?)
            }
            33 => Self::OpenOrder(from.order()?),
            34 => {
                let (order, word) = (from.id()?, from.word()?);
                let (price, lots) = (from.price()?, from.lots()?);
                let request = RequestId { order, version: word as u16 };
                let asked = match word >> 16 {
                    1 => Asked::Modify { price, lots },
                    0 if (price, lots) == (Price(0), Lots::ZERO) => Asked::Cancel,
                    _ => return None,
                };
                Self::Unanswered { request, asked }
            }
            35 => Self::Execution(from.fill()?),
            36 => Self::CheckpointEnd { as_of: from.word()? },
            _ => return None,
        };
        from.0.is_empty().then_some(entry)
    }

    /// Whether this build has an entry for the kind.
    pub(crate) const fn is_known(kind: u16) -> bool {
        matches!(kind, 1..=16 | 33..=36)
    }
}

/// Where the next word goes.
struct Cursor<'a> {
    out: &'a mut Payload,
    at: usize,
}

impl Cursor<'_> {
    #[inline(always)]
    fn word(&mut self, word: u64) {
        if let Some(place) = self.out.get_mut(self.at) {
            *place = word;
        }
        self.at += 1;
    }

    #[inline(always)]
    fn signed(&mut self, word: i64) {
        self.word(word.cast_unsigned());
    }

    fn wide(&mut self, number: i128) {
        let number = number.cast_unsigned();
        self.word(number as u64);
        self.word((number >> 64) as u64);
    }

    #[inline(always)]
    fn request(&mut self, request: RequestId) {
        self.word(request.order.0);
        self.word(u64::from(request.version));
    }

    #[inline(always)]
    fn change(&mut self, request: RequestId, price: Price, lots: Lots) {
        self.request(request);
        self.signed(price.0);
        self.signed(lots.0);
    }

    #[inline(always)]
    fn terms(&mut self, terms: &OrderTerms) {
        self.word(
            key(terms.instrument, terms.account, terms.side)
                | (terms.order_type as u64) << 44
                | (terms.time_in_force as u64) << 48
                | u64::from(terms.flags.bits()) << 52
                | u64::from(terms.stop_price.is_some()) << 60,
        );
        self.signed(terms.price.0);
        self.signed(terms.stop_price.unwrap_or_default().0);
        self.signed(terms.lots.0);
        self.signed(terms.lots_shown.0);
    }

    #[inline(always)]
    fn name(&mut self, name: &VenueId) {
        let mut bytes = [0; 8 * NAME_WORDS];
        if let Some((len, room)) = bytes.split_first_mut() {
            *len = name.as_bytes().len() as u8;
            for (place, byte) in room.iter_mut().zip(name.as_bytes()) {
                *place = *byte;
            }
        }
        let (words, _) = bytes.as_chunks::<8>();
        words.iter().for_each(|word| self.word(u64::from_le_bytes(*word)));
    }

    #[inline(always)]
    fn fill(&mut self, fill: &Fill) {
        self.word(fill.order.0);
        let is_inverse = u64::from(fill.is_inverse) << 44;
        let heir = match fill.owner == Owner::of(fill.order) {
            true => 0,
            false => 1 << 45 | owner_bits(fill.owner) << 48,
        };
        self.word(key(fill.instrument, fill.account, fill.side) | is_inverse | heir);
        self.signed(fill.price.0);
        self.signed(fill.lots.0);
        self.name(&fill.exec_id);
    }

    fn position(&mut self, key: &PositionKey, position: &Position) {
        let ids = [key.account.0, key.strategy.0, key.user.0].map(u64::from);
        self.word(u64::from(key.instrument.0) | ids[0] << 32 | ids[1] << 40 | ids[2] << 48);
        let (lots, amounts) = position.to_numbers();
        lots.into_iter().for_each(|lots| self.signed(lots));
        amounts.into_iter().for_each(|amount| self.wide(amount));
    }

    fn order(&mut self, order: &OrderRecord) {
        self.word(order.order.0);
        let versions = u64::from(order.version_sent) | u64::from(order.version_accepted) << 16;
        self.word(u64::from(order.tag) | versions << 32);
        self.signed(order.lots_filled.0);
        self.wide(order.worth);
        self.terms(&order.terms);
        self.name(&order.venue_id);
    }
}

#[inline(always)]
fn key(instrument: InstrumentId, account: AccountId, side: Side) -> u64 {
    u64::from(instrument.0) | u64::from(account.0) << 32 | (side as u64) << 40
}

const fn owner_bits(owner: Owner) -> u64 {
    owner.strategy.0 as u64 | (owner.user.0 as u64) << 8
}

const fn owner_of(bits: u16) -> Owner {
    let [strategy, user] = bits.to_le_bytes();
    Owner { user: UserId(user), strategy: StrategyId(strategy) }
}

/// What is left of a payload.
struct Words<'a>(&'a [u64]);

impl Words<'_> {
    fn word(&mut self) -> Option<u64> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    fn wide(&mut self) -> Option<i128> {
        let number = u128::from(self.word()?) | u128::from(self.word()?) << 64;
        Some(number.cast_signed())
    }

    fn flag(&mut self) -> Option<bool> {
        Some(self.word()?).filter(|word| *word < 2).map(|word| word == 1)
    }

    fn id(&mut self) -> Option<ClientOrderId> {
        self.word().map(ClientOrderId)
    }

    fn price(&mut self) -> Option<Price> {
        self.word().map(|word| Price(word.cast_signed()))
    }

    fn lots(&mut self) -> Option<Lots> {
        self.word().map(|word| Lots(word.cast_signed()))
    }

    fn request(&mut self) -> Option<RequestId> {
        Some(RequestId { order: self.id()?, version: u16::try_from(self.word()?).ok()? })
    }

    /// Instrument, account, side, and the bits from 44 on.
    fn key(&mut self) -> Option<(InstrumentId, AccountId, Side, u64)> {
        let word = self.word()?;
        let side = Side::from_index((word >> 40 & 15) as u8)?;
        Some((InstrumentId(word as u32), AccountId((word >> 32) as u8), side, word >> 44))
    }

    fn terms(&mut self) -> Option<OrderTerms> {
        let (instrument, account, side, bits) = self.key()?;
        let price = self.price()?;
        let stop = self.price()?;
        let stop_price = match bits >> 16 {
            0 if stop == Price(0) => None,
            1 => Some(stop),
            _ => return None,
        };
        Some(OrderTerms {
            instrument,
            account,
            side,
            order_type: OrderType::from_index((bits & 15) as u8)?,
            time_in_force: TimeInForce::from_index((bits >> 4 & 15) as u8)?,
            flags: OrderFlags::from_bits((bits >> 8 & 255) as u8)?,
            price,
            stop_price,
            lots: self.lots()?,
            lots_shown: self.lots()?,
        })
    }

    fn name(&mut self) -> Option<VenueId> {
        let (words, rest) = self.0.split_at_checked(NAME_WORDS)?;
        self.0 = rest;
        let mut bytes = [0; 8 * NAME_WORDS];
        for (place, word) in bytes.chunks_exact_mut(8).zip(words) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        let (len, text) = bytes.split_first()?;
        let (name, padding) = text.split_at_checked(usize::from(*len))?;
        padding.iter().all(|byte| *byte == 0).then(|| VenueId::new(name))
    }

    fn fill(&mut self) -> Option<Fill> {
        let order = self.id()?;
        let (instrument, account, side, bits) = self.key()?;
        let (price, lots, exec_id) = (self.price()?, self.lots()?, self.name()?);
        let (fee, is_inverse) = (Amount::ZERO, bits & 1 == 1);
        let (sender, heir) = (Owner::of(order), owner_of((bits >> 4) as u16));
        let owner = match bits & 0b1110 {
            0 if bits >> 4 == 0 => sender,
            // One that was not handed over is written without an owner.
            0b10 if heir != sender => heir,
            _ => return None,
        };
        Some(Fill {
            order,
            owner,
            instrument,
            account,
            side,
            price,
            lots,
            exec_id,
            fee,
            is_inverse,
        })
    }

    fn position_key(&mut self) -> Option<PositionKey> {
        let word = self.word()?;
        let [_, _, _, _, account, strategy, user, 0] = word.to_le_bytes() else { return None };
        Some(PositionKey {
            user: UserId(user),
            strategy: StrategyId(strategy),
            account: AccountId(account),
            instrument: InstrumentId(word as u32),
        })
    }

    fn order(&mut self) -> Option<OrderRecord> {
        let order = self.id()?;
        let word = self.word()?;
        let (lots_filled, worth) = (self.lots()?, self.wide()?);
        Some(OrderRecord {
            order,
            tag: word as u32,
            version_sent: (word >> 32) as u16,
            version_accepted: (word >> 48) as u16,
            lots_filled,
            worth,
            terms: self.terms()?,
            venue_id: self.name()?,
        })
    }
}

const _: () = assert!(5 + TERMS_WORDS + NAME_WORDS <= PAYLOAD_WORDS_MAX);

#[cfg(test)]
mod tests {
    use super::*;

    const ORDER: ClientOrderId = ClientOrderId::of(UserId(1), StrategyId(2), 3);
    const HEIR: Owner = Owner { user: UserId(4), strategy: StrategyId(5) };

    #[test]
    fn a_trade_of_an_order_that_was_not_handed_over_is_written_as_ever() {
        let key = 7 | 1 << 32 | 1 << 44;
        let name = u64::from_le_bytes([2, b'E', b'1', 0, 0, 0, 0, 0]);
        let words = [ORDER.0, key, 100, 18, name, 0, 0, 0, 0];
        let fill = Fill {
            order: ORDER,
            owner: Owner::of(ORDER),
            instrument: InstrumentId(7),
            account: AccountId(1),
            side: Side::Buy,
            price: Price(100),
            lots: Lots(18),
            exec_id: VenueId::new(b"E1"),
            fee: Amount::ZERO,
            is_inverse: true,
        };
        let mut packed = [0; PAYLOAD_WORDS_MAX];
        assert_eq!(Entry::Filled(fill).pack(&mut packed), (6, words.len()));
        assert_eq!(packed[..words.len()], words);
        assert_eq!(Entry::unpack(6, &words), Some(Entry::Filled(fill)));
        // Of one that was, the owner is beside it; one that is the sender, or half said, is none.
        let of = |more| {
            let mut words = words;
            words[1] |= more;
            Entry::unpack(6, &words)
        };
        let heir = |owner| 1 << 45 | owner_bits(owner) << 48;
        assert_eq!(of(heir(HEIR)), Some(Entry::Filled(Fill { owner: HEIR, ..fill })));
        for wrong in [heir(Owner::of(ORDER)), owner_bits(HEIR) << 48, 1 << 46, 1 << 47] {
            assert_eq!(of(wrong), None, "{wrong:x}");
        }
    }
}
