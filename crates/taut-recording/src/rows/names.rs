//! What the readers of a conversion have in common: names of instruments, counts.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

/// The longest name of an instrument that is kept; a longer one is cut.
pub const SYMBOL_BYTES_MAX: usize = 70;

/// How far the readers of some files are, and what they found instruments to be called.
#[derive(Debug, Default)]
pub struct Reading {
    bytes: Cell<u64>,
    left_out: Cell<u64>,
    by_name: RefCell<HashMap<Vec<u8>, u32>>,
    names: RefCell<BTreeMap<u32, Rc<str>>>,
}

impl Reading {
    /// Of files that are read from their beginning.
    #[must_use]
    pub fn new() -> Rc<Self> {
        Rc::default()
    }

    /// Of the same files, read again: their instruments have the names that were found before.
    pub(crate) fn named_as(other: &Self) -> Rc<Self> {
        let (by_name, names) = (other.by_name.clone(), other.names.clone());
        Rc::new(Self { by_name, names, ..Self::default() })
    }

    /// Bytes that were taken from files, packed as they are there.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes.get()
    }

    /// What the files say that no row can: levels by their places, orders that nobody added.
    #[must_use]
    pub fn left_out(&self) -> u64 {
        self.left_out.get()
    }

    /// The name of an instrument; its number where the files do not name it.
    #[must_use]
    pub fn symbol(&self, instrument: u32) -> Rc<str> {
        let named = self.names.borrow().get(&instrument).cloned();
        named.unwrap_or_else(|| instrument.to_string().into())
    }

    /// The instruments that have a name, in the order of their numbers.
    #[must_use]
    pub fn symbols(&self) -> Vec<(u32, Rc<str>)> {
        self.names.borrow().iter().map(|(number, name)| (*number, Rc::clone(name))).collect()
    }

    pub(crate) fn count_bytes(&self, bytes: usize) {
        self.bytes.set(self.bytes.get() + bytes as u64);
    }

    pub(crate) fn leave_out(&self, rows: u64) {
        self.left_out.set(self.left_out.get() + rows);
    }

    /// The number of an instrument with this name: from 1, in the order in which they come.
    pub(crate) fn number(&self, name: &[u8]) -> u32 {
        if let Some(number) = self.by_name.borrow().get(name) {
            return *number;
        }
        let number = u32::try_from(self.by_name.borrow().len() + 1).unwrap_or(u32::MAX);
        self.by_name.borrow_mut().insert(name.to_owned(), number);
        self.call(number, name);
        number
    }

    /// Gives an instrument its name. What would need quoting in a text file is left out of it.
    pub(crate) fn call(&self, number: u32, name: &[u8]) {
        let is_plain = |byte: &u8| byte.is_ascii_graphic() && !matches!(byte, b',' | b'"' | b'\\');
        let plain = name.iter().filter(|byte| is_plain(byte)).take(SYMBOL_BYTES_MAX);
        let name: String = plain.map(|byte| char::from(*byte)).collect();
        self.names.borrow_mut().insert(number, name.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_numbered_as_they_come_and_are_plain() {
        let reading = Reading::new();
        assert_eq!([b"B", b"A", b"B"].map(|name| reading.number(name)), [1, 2, 1]);
        assert_eq!(&*reading.symbol(2), "A");
        assert_eq!(&*reading.symbol(9), "9");
        reading.call(7, b"a,\"b\\ c");
        assert_eq!(&*reading.symbol(7), "abc");
        assert_eq!(reading.symbols().len(), 3);
    }
}
