//! Values as indices into a dictionary, packed in runs and in bits (parquet-format,
//! `Encodings.md`: dictionary encoding, run length encoding / bit-packing hybrid).

use super::thrift::varint;

/// Values of a group of bits, and the shortest run that is told as one.
const GROUP: usize = 8;
/// A place of the table where nothing is.
const NOBODY: u32 = u32::MAX;

/// The different values of some, in the order in which they come.
#[derive(Debug, Default)]
pub(super) struct Dictionary {
    /// Where values are, by their hash: their indices.
    table: Vec<u32>,
    values: Vec<i64>,
    indices: Vec<u32>,
}

impl Dictionary {
    /// Of these values, and no others.
    pub(super) fn fill(&mut self, values: &[i64]) {
        let len = (values.len() * 2).next_power_of_two().max(2);
        self.table.clear();
        self.table.resize(len, NOBODY);
        self.values.clear();
        self.indices.clear();
        let shift = 64 - len.trailing_zeros();
        for &value in values {
            // Fibonacci hashing; half of the table stays empty.
            let hash = value.cast_unsigned().wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let mut at = (hash >> shift) as usize;
            let index = loop {
                match self.table[at] {
                    NOBODY => {
                        let index = self.values.len() as u32;
                        self.table[at] = index;
                        self.values.push(value);
                        break index;
                    }
                    index if self.values[index as usize] == value => break index,
                    _ => at = (at + 1) & (len - 1),
                }
            };
            self.indices.push(index);
        }
    }

    /// The different values.
    pub(super) fn values(&self) -> &[i64] {
        &self.values
    }

    /// For each value where it is among the different ones.
    pub(super) fn indices(&self) -> &[u32] {
        &self.indices
    }
}

/// The bits of an index into so many values.
pub(super) fn bit_width(values: usize) -> u8 {
    let highest = values.saturating_sub(1);
    (usize::BITS - highest.leading_zeros()) as u8
}

/// Indices as the body of a page: their width, then runs of equal ones and groups of bits.
pub(super) fn hybrid(indices: &[u32], width: u8) -> Vec<u8> {
    let mut out = vec![width];
    let (mut at, mut literal) = (0, 0);
    while at < indices.len() {
        let first = indices[at];
        let run = indices[at..].iter().take_while(|index| **index == first).count();
        // Before a run there are whole groups, for which it may have to lend some of its own.
        let lent = (at - literal).next_multiple_of(GROUP) - (at - literal);
        if run >= GROUP + lent {
            bits(&mut out, &indices[literal..at + lent], width);
            varint(&mut out, ((run - lent) as u64) << 1);
            out.extend_from_slice(&first.to_le_bytes()[..usize::from(width).div_ceil(8)]);
            literal = at + run;
        }
        at += run;
    }
    bits(&mut out, &indices[literal..], width);
    out
}

/// Whole groups of bits, the last one filled up with zeros.
fn bits(out: &mut Vec<u8>, indices: &[u32], width: u8) {
    if indices.is_empty() {
        return;
    }
    let groups = indices.len().div_ceil(GROUP);
    varint(out, (groups as u64) << 1 | 1);
    let end = out.len() + groups * usize::from(width);
    let (mut word, mut filled) = (0_u64, 0);
    for index in indices {
        word |= u64::from(*index) << filled;
        filled += u32::from(width);
        while filled >= 8 {
            out.push(word as u8);
            word >>= 8;
            filled -= 8;
        }
    }
    if filled > 0 {
        out.push(word as u8);
    }
    out.resize(end, 0);
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// The plain way back: the indices of a page's body.
    pub fn read_hybrid(body: &[u8], count: usize) -> Vec<u32> {
        let (width, mut rest) = (usize::from(body[0]), &body[1..]);
        let mut indices = Vec::new();
        while indices.len() < count {
            let (mut head, mut shift) = (0_u64, 0);
            loop {
                let byte = rest[0];
                rest = &rest[1..];
                head |= u64::from(byte & 0x7f) << shift;
                shift += 7;
                if byte & 0x80 == 0 {
                    break;
                }
            }
            let bytes =
                if head & 1 == 0 { width.div_ceil(8) } else { (head >> 1) as usize * width };
            let (part, behind) = rest.split_at(bytes);
            rest = behind;
            let bit = |at: usize| u32::from(part[at / 8] >> (at % 8) & 1);
            let value =
                |at: usize| -> u32 { (0..width).map(|of| bit(at * width + of) << of).sum() };
            match head & 1 {
                0 => indices.extend((0..head >> 1).map(|_| value(0))),
                _ => indices.extend((0..(head >> 1) as usize * GROUP).map(value)),
            }
        }
        assert!(rest.is_empty() && indices.len() < count + GROUP);
        indices.truncate(count);
        indices
    }

    #[test]
    fn runs_and_bits_come_back_whatever_their_lengths() {
        let mut seed = 3_u64;
        let mut random = |below: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695);
            (seed >> 33) % below
        };
        for width in [0, 1, 2, 7, 8, 9, 16, 17] {
            for _ in 0..200 {
                let mut indices = Vec::new();
                for _ in 0..random(12) {
                    let index = random(1 << width) as u32;
                    indices.extend((0..=random(25) * random(2)).map(|_| index));
                }
                let body = hybrid(&indices, width);
                assert_eq!(read_hybrid(&body, indices.len()), indices, "{width}");
            }
        }
        assert!(hybrid(&[0; 10_000], 1).len() == 5, "a run is short");
    }

    #[test]
    fn a_dictionary_has_each_value_once_in_the_order_in_which_they_come() {
        let mut dictionary = Dictionary::default();
        dictionary.fill(&[1, 2, 3]);
        let values: Vec<_> = (0..1_000).map(|at| at * at % 77 - 5).collect();
        dictionary.fill(&values);
        let mut different = values.clone();
        different.sort_unstable();
        different.dedup();
        assert_eq!(dictionary.values().len(), different.len());
        let back = dictionary.indices().iter().map(|at| dictionary.values()[*at as usize]);
        assert_eq!(back.collect::<Vec<_>>(), values);
        let widths = [0, 1, 2, 3, 4, 5, 256, 257].map(bit_width);
        assert_eq!(widths, [0, 0, 1, 2, 2, 3, 8, 9]);
    }
}
