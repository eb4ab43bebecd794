//! The proof that a book is the venue's.

use crc::{CRC_32_ISO_HDLC, Crc, Table};
use taut_book::LevelBook;
use taut_types::{DECIMAL_BYTES_MAX, Price, Side, format_decimal};

use crate::amount::AmountScale;

const CRC_32: Crc<u32, Table<16>> = Crc::<u32, Table<16>>::new(&CRC_32_ISO_HDLC);
/// How many levels of each side count.
const DEPTH: usize = 25;
/// A price and an amount for every level of both sides, with their colons.
const TEXT_BYTES_MAX: usize = DEPTH * 4 * (DECIMAL_BYTES_MAX + 1);

/// The checksum of a book: CRC-32 over `bid:size:ask:size:...` of the best 25 levels, one side
/// after the other, where one has no more the other's alone. Decimals are written as short as they
/// can be, as the venue does.
pub(super) fn checksum(book: &LevelBook, scale: AmountScale) -> u32 {
    let mut text = [0; TEXT_BYTES_MAX];
    let mut len = 0;
    let mut put = |value, decimals| {
        let mut decimal = [0; DECIMAL_BYTES_MAX];
        let digits = format_decimal(value, decimals, &mut decimal);
        if let Some(room) = text.get_mut(len..len + digits + 1)
            && let Some((colon, room)) = room.split_last_mut()
        {
            room.copy_from_slice(decimal.get(..digits).unwrap_or_default());
            *colon = b':';
            len += digits + 1;
        }
    };
    let [mut bids, mut asks] = Side::BOTH.map(|side| book.iter(side));
    for _ in 0..DEPTH {
        for level in [bids.next(), asks.next()].into_iter().flatten() {
            put(level.price.0, Price::DECIMALS);
            put(scale.amount(level.lots), scale.decimals());
        }
    }
    CRC_32.checksum(text.get(..len.saturating_sub(1)).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use taut_types::Lots;

    #[test]
    fn the_levels_of_both_sides_take_turns_and_the_longer_one_goes_on() {
        let mut book = LevelBook::with_capacity(8);
        let mut set = |side, price: &[u8], lots| {
            book.apply(side, Price::parse(price).unwrap(), Lots(lots), 0).unwrap();
        };
        set(Side::Buy, b"3366.1", 70);
        set(Side::Buy, b"3366", 5);
        set(Side::Sell, b"3366.8", 90);
        set(Side::Sell, b"3368", 80);
        set(Side::Sell, b"3372", 81);
        let text = b"3366.1:7:3366.8:9:3366:0.5:3368:8:3372:8.1";
        assert_eq!(checksum(&book, AmountScale::of_decimals(1)), CRC_32.checksum(text));
        let empty = LevelBook::with_capacity(1);
        assert_eq!(checksum(&empty, AmountScale::of_decimals(1)), CRC_32.checksum(b""));
    }
}
