//! Sets of CPUs as Linux writes them: lists (`0-3,8`) and masks (`ff,00000001`).

use std::collections::BTreeSet;
use std::fmt;

/// No machine has a CPU with this number: a range up to it is a slip of the pen.
const CPUS_MAX: usize = 8_192;

/// A set of CPUs. It is printed as a list: `0-3,8`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CpuList(BTreeSet<usize>);

impl CpuList {
    /// The set of a list such as `0-3,8`; nothing in it is the empty set. `None` for what is no
    /// list, and for numbers from 8192 on.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let mut cpus = BTreeSet::new();
        for part in text.trim().split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let (first, last) = (first.parse::<usize>().ok()?, last.parse::<usize>().ok()?);
            if first > last || last >= CPUS_MAX {
                return None;
            }
            cpus.extend(first..=last);
        }
        Some(Self(cpus))
    }

    /// The set of a mask in hexadecimal, words of 32 bits with commas between them. `None` for what
    /// is no mask.
    #[must_use]
    pub fn parse_mask(text: &str) -> Option<Self> {
        let digits: Vec<u32> = text
            .trim()
            .chars()
            .filter(|digit| *digit != ',')
            .map(|digit| digit.to_digit(16))
            .collect::<Option<_>>()?;
        if digits.is_empty() || digits.len() > CPUS_MAX / 4 {
            return None;
        }
        let bits = digits.iter().rev().enumerate();
        let cpus = bits.flat_map(|(at, digit)| {
            (0..4).filter(move |bit| digit >> bit & 1 == 1).map(move |bit| at * 4 + bit)
        });
        Some(Self(cpus.collect()))
    }

    /// As a mask in hexadecimal: `3`, or `1,00000000`.
    #[must_use]
    pub fn mask(&self) -> String {
        let words = self.0.last().map_or(1, |last| last / 32 + 1);
        let word = |at: usize| -> u32 {
            let own = self.0.iter().filter(|cpu| *cpu / 32 == at);
            own.map(|cpu| 1u32 << (cpu % 32)).fold(0, |word, bit| word | bit)
        };
        let first = format!("{:x}", word(words - 1));
        let rest = (0..words - 1).rev().map(|at| format!(",{:08x}", word(at)));
        std::iter::once(first).chain(rest).collect()
    }

    /// The CPUs, ascending.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = usize> + '_ {
        self.0.iter().copied()
    }

    /// Whether this one is in it.
    #[must_use]
    pub fn contains(&self, cpu: usize) -> bool {
        self.0.contains(&cpu)
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Those that are in `other` too.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        self.iter().filter(|cpu| other.contains(*cpu)).collect()
    }

    /// Those that are in the one, the other, or both.
    #[must_use]
    pub fn or(&self, other: &Self) -> Self {
        self.iter().chain(other.iter()).collect()
    }

    /// Those that are not in `other`.
    #[must_use]
    pub fn without(&self, other: &Self) -> Self {
        self.iter().filter(|cpu| !other.contains(*cpu)).collect()
    }
}

impl FromIterator<usize> for CpuList {
    fn from_iter<T: IntoIterator<Item = usize>>(cpus: T) -> Self {
        Self(cpus.into_iter().collect())
    }
}

impl fmt::Display for CpuList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut ranges: Vec<(usize, usize)> = Vec::new();
        for cpu in self.iter() {
            match ranges.last_mut() {
                Some((_, last)) if *last + 1 == cpu => *last = cpu,
                _ => ranges.push((cpu, cpu)),
            }
        }
        for (at, (first, last)) in ranges.into_iter().enumerate() {
            let comma = if at > 0 { "," } else { "" };
            match first == last {
                true => write!(f, "{comma}{first}")?,
                false => write!(f, "{comma}{first}-{last}")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_read_as_it_is_written() {
        for (text, cpus) in
            [("0-3,8\n", &[0, 1, 2, 3, 8][..]), ("", &[]), ("5", &[5]), ("1,0", &[0, 1])]
        {
            let list = CpuList::parse(text).expect("a list");
            assert_eq!(list.iter().collect::<Vec<_>>(), cpus, "{text}");
            assert_eq!(CpuList::parse(&list.to_string()), Some(list), "{text}");
        }
        assert_eq!(CpuList::parse("8,0-3").map(|list| list.to_string()), Some("0-3,8".to_owned()));
        for text in ["x", "3-1", "-1", "0-", "0-99999999999", "9999"] {
            assert_eq!(CpuList::parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_mask_is_read_as_it_is_written() {
        for (text, list) in [("3", "0-1"), ("1,00000000", "32"), ("80000000,00000005", "0,2,63")] {
            let mask = CpuList::parse_mask(text).expect("a mask");
            assert_eq!((mask.to_string().as_str(), mask.mask().as_str()), (list, text));
        }
        assert_eq!(CpuList::default().mask(), "0");
        for text in ["", "g", "0x3"] {
            assert_eq!(CpuList::parse_mask(text), None, "{text}");
        }
    }
}
