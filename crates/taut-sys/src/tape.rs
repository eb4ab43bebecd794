//! A thread's tape: what the thread hears from outside, written down in order or given once more.
//!
//! A program that is the same function of what it hears each time (one thread, no hash order, no
//! address in a decision) does the same again when it is given the same. What it hears are times,
//! random bytes, results of system calls and what other processes left in shared memory. Whoever
//! asks for one of these goes through [`hear`]; whoever sends something out shows it to [`tell`].
//!
//! The tape runs in *turns*. While one is written, every answer is appended to the turn's bytes,
//! and [`end_writing`] hands them over, to be kept or thrown away. While one is read, the answers
//! come from the bytes, nobody outside is asked, and the first thing that is asked for or told
//! otherwise is the turn's [`Difference`]. Outside a turn the tape is off: a call costs one look at
//! a variable of the thread.
//!
//! A secret goes on no tape. What is sent and has one of [`withhold`]'s in it is written down as
//! far as the secret, with its length: so far, a reading thread is held to it.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::mem::ManuallyDrop;

use crate::error::SysError;

/// What stands on the tape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Heard {
    /// A reading of a clock in ticks.
    Ticks = 1,
    /// A reading of a clock in nanoseconds.
    Time,
    /// Random bytes.
    Random,
    /// What became ready.
    Ready,
    /// Bytes that arrived.
    Arrived,
    /// A socket was opened, and its address or that of its peer.
    Opened,
    /// What a call with no other answer returned.
    Done,
    /// Bytes that were sent, and how many of them were taken.
    Sent,
    /// A strategy's request.
    Request,
    /// What was told to a strategy, and whether there was room for it.
    Reply,
    /// Whether there is room.
    Room,
    /// A choice that hangs on turns in which nothing happened.
    Choice,
    /// What was sent and has a secret in it.
    Withheld,
    /// How long a secret is.
    Secret,
    /// What a key has made of a text.
    Signature,
    /// What a TLS session has made of bytes.
    Tls,
    /// What was counted elsewhere.
    Count,
    /// What somebody wants done.
    Command,
    /// Where a name is.
    Place,
    /// What is kept in a file, or whether something could be.
    Kept,
    /// What the venue told another thread of an order.
    Copy,
}

impl Heard {
    const ALL: [Self; 21] = [
        Self::Ticks,
        Self::Time,
        Self::Random,
        Self::Ready,
        Self::Arrived,
        Self::Opened,
        Self::Done,
        Self::Sent,
        Self::Request,
        Self::Reply,
        Self::Room,
        Self::Choice,
        Self::Withheld,
        Self::Secret,
        Self::Signature,
        Self::Tls,
        Self::Count,
        Self::Command,
        Self::Place,
        Self::Kept,
        Self::Copy,
    ];

    /// What it is, for people.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ticks => "a reading of the clock",
            Self::Time => "the time",
            Self::Random => "random bytes",
            Self::Ready => "what is ready",
            Self::Arrived => "what arrived",
            Self::Opened => "a socket",
            Self::Done => "the result of a call",
            Self::Sent => "bytes that are sent",
            Self::Request => "a strategy's request",
            Self::Reply => "what a strategy is told",
            Self::Room => "whether there is room",
            Self::Choice => "a choice",
            Self::Withheld => "bytes that are sent, with a secret",
            Self::Secret => "the length of a secret",
            Self::Signature => "a signature",
            Self::Tls => "what TLS made of bytes",
            Self::Count => "what was counted elsewhere",
            Self::Command => "what somebody wants done",
            Self::Place => "where a name is",
            Self::Kept => "what is kept in a file",
            Self::Copy => "a copy of what the venue said",
        }
    }

    fn of(byte: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|heard| *heard as u8 == byte)
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Off,
    Writing,
    Reading,
}

/// A turn that was read and went another way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// At which byte of the turn.
    pub offset: usize,
    /// What was written down there.
    pub recorded: String,
    /// What was asked for or told now.
    pub now: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { offset, recorded, now } = self;
        write!(f, "byte {offset} of the turn: recorded {recorded}, now {now}")
    }
}

struct Tape {
    bytes: Vec<u8>,
    /// How far it was read.
    at: usize,
    /// The readings before, which the next ones are written relative to.
    ticks: u64,
    time: u64,
    /// Something was heard or told that an idle turn has not.
    has_effect: bool,
    /// The turn is kept whatever happens.
    is_kept: bool,
    difference: Option<Difference>,
}

thread_local! {
    static MODE: Cell<Mode> = const { Cell::new(Mode::Off) };
    /// Whether there is something that is never written down, and what.
    static HAS_SECRETS: Cell<bool> = const { Cell::new(false) };
    static SECRETS: RefCell<Secrets> = const { RefCell::new(Secrets::NONE) };
    /// What has nothing to drop is reached without a look whether it is there still: `ENDED` frees
    /// its memory.
    static TAPE: RefCell<ManuallyDrop<Tape>> = const {
        RefCell::new(ManuallyDrop::new(Tape {
            bytes: Vec::new(),
            at: 0,
            ticks: 0,
            time: 0,
            has_effect: false,
            is_kept: false,
            difference: None,
        }))
    };
    static ENDED: Ended = const { Ended };
}

/// Frees the tape of a thread that ends.
struct Ended;

impl Drop for Ended {
    fn drop(&mut self) {
        TAPE.with_borrow_mut(|tape| (tape.bytes, tape.difference) = (Vec::new(), None));
    }
}

impl Tape {
    fn rewind(&mut self) {
        self.bytes.clear();
        (self.at, self.ticks, self.time) = (0, 0, 0);
        (self.has_effect, self.difference) = (false, None);
    }

    /// The next thing, if it is this one.
    fn next(&mut self, what: Heard) -> bool {
        if self.difference.is_some() {
            return false;
        }
        let tag = self.bytes.get(self.at).copied();
        if tag == Some(what as u8) {
            self.at += 1;
            return true;
        }
        let recorded = match tag {
            None => "the end of the turn".to_owned(),
            Some(tag) => Heard::of(tag).map_or("nothing known", Heard::name).to_owned(),
        };
        self.differs(recorded, what.name().to_owned());
        false
    }

    fn differs(&mut self, recorded: String, now: String) {
        let offset = self.at;
        self.difference.get_or_insert(Difference { offset, recorded, now });
    }

    fn get<T>(&mut self, what: Heard, get: impl FnOnce(&mut Get<'_>) -> Option<T>) -> Option<T> {
        if !self.next(what) {
            return None;
        }
        let mut from = Get { rest: self.bytes.get(self.at..).unwrap_or(&[]) };
        let before = from.rest.len();
        let got = get(&mut from);
        let used = before - from.rest.len();
        if got.is_none() {
            // The same kind of thing, but of another call, or not all of it.
            let name = what.name();
            self.differs(format!("{name} of something else, or cut short"), name.to_owned());
        }
        self.at += used;
        got
    }
}

/// Appends values to a turn.
#[derive(Debug)]
pub struct Put<'t>(&'t mut Vec<u8>);

impl Put<'_> {
    /// A number, in as many bytes as it needs.
    #[inline]
    pub fn number(&mut self, value: u64) {
        match value {
            0..0x80 => self.0.push(value as u8),
            0x80..0x4000 => self.0.extend_from_slice(&two(value)),
            _ => self.long_number(value),
        }
    }

    #[inline(never)]
    fn long_number(&mut self, value: u64) {
        let (mut bytes, mut rest, mut length) = ([0; NUMBER_BYTES_MAX], value, 1);
        for byte in &mut bytes {
            *byte = rest as u8 | 0x80;
            rest >>= 7;
            if rest == 0 {
                *byte &= 0x7f;
                break;
            }
            length += 1;
        }
        self.0.extend_from_slice(bytes.get(..length).unwrap_or(&bytes));
    }

    /// What comes and a number, as most of them are: in one piece.
    #[inline]
    fn tagged(&mut self, what: Heard, value: u64) {
        match value {
            0..0x80 => self.0.extend_from_slice(&[what as u8, value as u8]),
            0x80..0x4000 => {
                let [low, high] = two(value);
                self.0.extend_from_slice(&[what as u8, low, high]);
            }
            _ => {
                self.0.push(what as u8);
                self.long_number(value);
            }
        }
    }

    /// Bytes, with their length.
    #[inline]
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    /// A text, with its length.
    pub fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }

    /// What a call returned: the value or the error's number.
    #[inline]
    pub fn result<T>(&mut self, result: &Result<T, SysError>, put: impl FnOnce(&T, &mut Self)) {
        match result {
            Ok(value) => {
                self.number(0);
                put(value, self);
            }
            Err(error) => self.number(1 + u64::from(error.errno().unsigned_abs())),
        }
    }
}

/// Bytes of the longest number.
const NUMBER_BYTES_MAX: usize = 10;

/// A number of 8 to 14 bits.
#[inline]
const fn two(value: u64) -> [u8; 2] {
    [value as u8 | 0x80, (value >> 7) as u8]
}

/// Takes values from a turn.
#[derive(Debug)]
pub struct Get<'t> {
    rest: &'t [u8],
}

impl<'t> Get<'t> {
    /// A number.
    pub fn number(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let (first, rest) = self.rest.split_first()?;
            self.rest = rest;
            value |= u64::from(first & 0x7f) << shift;
            if *first < 0x80 {
                return Some(value);
            }
        }
        None
    }

    /// Whether something is.
    pub fn flag(&mut self) -> Option<bool> {
        self.number().map(|number| number != 0)
    }

    /// Bytes.
    pub fn bytes(&mut self) -> Option<&'t [u8]> {
        let length = usize::try_from(self.number()?).ok()?;
        let (bytes, rest) = self.rest.split_at_checked(length)?;
        self.rest = rest;
        Some(bytes)
    }

    /// A text.
    pub fn text(&mut self) -> Option<&'t str> {
        self.bytes().and_then(|bytes| std::str::from_utf8(bytes).ok())
    }

    /// What a call returned.
    pub fn result<T>(
        &mut self,
        get: impl FnOnce(&mut Self) -> Option<T>,
    ) -> Option<Result<T, SysError>> {
        match self.number()? {
            0 => get(self).map(Ok),
            errno => {
                let errno = i32::try_from(errno - 1).ok()?;
                Some(Err(SysError::from_errno("recorded call", errno)))
            }
        }
    }
}

/// Begins a turn that is written, and is kept whatever happens in it, or not.
pub fn begin_writing(is_kept: bool) {
    ENDED.with(|_| ());
    TAPE.with_borrow_mut(|tape| {
        tape.rewind();
        tape.is_kept = is_kept;
    });
    MODE.set(Mode::Writing);
}

/// Ends it: hands over its bytes, and whether anything was heard or told that an idle turn has
/// not ([`mark_effect`]).
pub fn end_writing<T>(take: impl FnOnce(&[u8], bool) -> T) -> T {
    MODE.set(Mode::Off);
    TAPE.with_borrow(|tape| take(&tape.bytes, tape.has_effect))
}

/// Begins a turn that is read from these bytes.
pub fn begin_reading(turn: &[u8]) {
    ENDED.with(|_| ());
    TAPE.with_borrow_mut(|tape| {
        tape.rewind();
        tape.bytes.extend_from_slice(turn);
    });
    MODE.set(Mode::Reading);
}

/// Ends it.
///
/// # Errors
/// The first thing that was asked for or told otherwise, or was not at all.
pub fn end_reading() -> Result<(), Difference> {
    MODE.set(Mode::Off);
    TAPE.with_borrow_mut(|tape| {
        if let Some(&tag) = tape.bytes.get(tape.at) {
            let next = Heard::of(tag).map_or("nothing known", Heard::name);
            tape.differs(next.to_owned(), "the end of the turn".to_owned());
        }
        tape.difference.take().map_or(Ok(()), Err)
    })
}

/// Whether a turn is written or read.
#[inline]
#[must_use]
pub fn is_on() -> bool {
    MODE.get() != Mode::Off
}

/// Whether a turn is written.
#[inline]
#[must_use]
pub fn is_writing() -> bool {
    MODE.get() == Mode::Writing
}

/// Whether a turn is read: nobody outside may be asked.
#[inline]
#[must_use]
pub fn is_reading() -> bool {
    MODE.get() == Mode::Reading
}

/// Does something that is no part of the turn: what it hears and tells is on no tape.
pub fn outside<T>(act: impl FnOnce() -> T) -> T {
    let mode = MODE.replace(Mode::Off);
    let done = act();
    MODE.set(mode);
    done
}

/// What this thread sends is written down without this from here on.
pub fn withhold(secret: &[u8]) {
    SECRETS.with_borrow_mut(|secrets| {
        if !secret.is_empty() && secrets.all.iter().all(|other| other != secret) {
            let mut steps = Vec::new();
            steps_of(secret, &mut steps);
            secrets.all.push(secret.to_vec());
            secrets.steps.push(steps);
            HAS_SECRETS.set(true);
        }
    });
}

/// What this thread withholds, for another one that does the same.
#[must_use]
pub fn withheld() -> Vec<Vec<u8>> {
    SECRETS.with_borrow(|secrets| secrets.all.clone())
}

/// How far apart the bytes are that a WebSocket's mask changes alike.
const MASK_BYTES: usize = 4;

/// What is never written down, and memory for looking for it.
struct Secrets {
    all: Vec<Vec<u8>>,
    /// [`steps_of`] each.
    steps: Vec<Vec<u8>>,
    said: Vec<u8>,
    room: Vec<u8>,
}

/// In what each byte and the fourth behind it differ: the same under any mask of a WebSocket.
fn steps_of(bytes: &[u8], into: &mut Vec<u8>) {
    into.clear();
    into.extend(bytes.iter().zip(bytes.iter().skip(MASK_BYTES)).map(|(one, other)| one ^ other));
}

impl Secrets {
    const NONE: Self =
        Self { all: Vec::new(), steps: Vec::new(), said: Vec::new(), room: Vec::new() };

    /// Where the first secret begins that is in what was said last, as it is or under a mask.
    fn first(&mut self) -> Option<usize> {
        steps_of(&self.said, &mut self.room);
        let first = |(secret, steps): (&Vec<u8>, &Vec<u8>)| match secret.len() {
            // Its steps are too few to be its own.
            ..6 => position(&self.said, secret),
            _ => position(&self.room, steps),
        };
        self.all.iter().zip(&self.steps).filter_map(first).min()
    }
}

/// Where some bytes begin in others. Most places are none at their first byte.
fn position(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    let (first, rest) = wanted.split_first()?;
    let places = bytes.len().checked_sub(rest.len())?;
    let is_there = |(place, byte): (usize, &u8)| {
        byte == first && bytes.get(place + 1..place + wanted.len()) == Some(rest)
    };
    bytes.get(..places)?.iter().enumerate().position(is_there)
}

/// This turn is not idle: it is to be kept even if nobody says that it did anything.
#[inline]
pub fn mark_effect() {
    if is_writing() {
        TAPE.with_borrow_mut(|tape| tape.has_effect = true);
    }
}

/// Whether this turn is kept, as far as it has come, or was. What changes nothing but caches is
/// left to turns that are not.
#[inline]
#[must_use]
pub fn is_kept() -> bool {
    match MODE.get() {
        Mode::Off => false,
        Mode::Writing => TAPE.with_borrow(|tape| tape.is_kept || tape.has_effect),
        Mode::Reading => true,
    }
}

/// A choice that hangs on turns in which nothing happened, which are not written down.
#[inline]
pub fn choose(choice: bool) -> bool {
    hear(Heard::Choice, || choice, |choice, on| on.number((*choice).into()), |from| from.flag())
}

/// Asks outside, unless a turn is read; the answer goes on the tape, or comes from it. A turn that
/// went another way answers with the default.
#[inline]
pub fn hear<T: Default>(
    what: Heard,
    ask: impl FnOnce() -> T,
    put: impl FnOnce(&T, &mut Put<'_>),
    get: impl FnOnce(&mut Get<'_>) -> Option<T>,
) -> T {
    hear_or(what, ask, put, get, T::default)
}

/// As [`hear`], with another answer in a turn that went another way.
#[inline]
pub fn hear_or<T>(
    what: Heard,
    ask: impl FnOnce() -> T,
    put: impl FnOnce(&T, &mut Put<'_>),
    get: impl FnOnce(&mut Get<'_>) -> Option<T>,
    otherwise: impl FnOnce() -> T,
) -> T {
    match MODE.get() {
        Mode::Off => ask(),
        Mode::Writing => {
            let answer = ask();
            TAPE.with_borrow_mut(|tape| {
                tape.bytes.push(what as u8);
                put(&answer, &mut Put(&mut tape.bytes));
            });
            answer
        }
        Mode::Reading => TAPE.with_borrow_mut(|tape| tape.get(what, get)).unwrap_or_else(otherwise),
    }
}

/// Has a signature made in this room: it goes on the tape, so that whoever reads it needs no key.
pub fn signature(room: &mut [u8], sign: &mut dyn FnMut(&mut [u8])) {
    if is_reading() {
        let given =
            hear(Heard::Signature, Vec::new, |_, _| (), |from| Some(from.bytes()?.to_vec()));
        room.iter_mut().zip(given).for_each(|(room, byte)| *room = byte);
        return;
    }
    sign(room);
    hear(Heard::Signature, || (), |(), on| on.bytes(room), |_| Some(()));
}

/// Shows what goes out: it is written down, or held against what was. What has a secret in it is
/// written down and compared as far as the secret, with the length of all of it.
#[inline]
pub fn tell(what: Heard, parts: &[&[u8]]) {
    match MODE.get() {
        Mode::Off => {}
        Mode::Writing => {
            let withheld = if HAS_SECRETS.get() { secret_at(parts) } else { None };
            TAPE.with_borrow_mut(|tape| {
                tape.has_effect = true;
                let length = parts.iter().map(|part| part.len() as u64).sum();
                if let Some(before) = withheld {
                    tape.bytes.push(Heard::Withheld as u8);
                    let mut on = Put(&mut tape.bytes);
                    on.number(length);
                    on.bytes(&before);
                    return;
                }
                Put(&mut tape.bytes).tagged(what, length);
                parts.iter().for_each(|part| tape.bytes.extend_from_slice(part));
            });
        }
        Mode::Reading => TAPE.with_borrow_mut(|tape| compare(tape, what, &parts.concat())),
    }
}

/// What stands before the first secret, if there is one.
fn secret_at(parts: &[&[u8]]) -> Option<Vec<u8>> {
    SECRETS.with_borrow_mut(|secrets| {
        secrets.said.clear();
        parts.iter().for_each(|part| secrets.said.extend_from_slice(part));
        let at = secrets.first()?;
        secrets.said.get(..at).map(<[u8]>::to_vec)
    })
}

/// Holds what is told against what was.
fn compare(tape: &mut Tape, what: Heard, said: &[u8]) {
    let at = tape.at;
    let is_withheld = tape.bytes.get(at) == Some(&(Heard::Withheld as u8));
    if !tape.next(if is_withheld { Heard::Withheld } else { what }) {
        return;
    }
    let mut from = Get { rest: tape.bytes.get(tape.at..).unwrap_or(&[]) };
    let before = from.rest.len();
    let length = if is_withheld { from.number() } else { Some(said.len() as u64) };
    let recorded = from.bytes().map(<[u8]>::to_vec).unwrap_or_default();
    let used = before - from.rest.len();
    let compared = match is_withheld {
        true => said.get(..recorded.len()).unwrap_or(said),
        false => said,
    };
    if recorded != compared || length != Some(said.len() as u64) {
        tape.at = at;
        let name = what.name();
        let shown = |bytes: &[u8], length| match is_withheld {
            true => format!("{name}, {length} bytes with a secret behind \"{}\"", shown(bytes)),
            false => format!("{name}: \"{}\"", shown(bytes)),
        };
        let recorded = shown(&recorded, length.unwrap_or(0));
        tape.differs(recorded, shown(compared, said.len() as u64));
    }
    tape.at += used;
}

/// Bytes for people: FIX with bars.
fn shown(bytes: &[u8]) -> String {
    let bars: Vec<u8> = bytes.iter().map(|byte| if *byte == 1 { b'|' } else { *byte }).collect();
    bars.escape_ascii().to_string()
}

/// A reading of a clock: relative to the one before in the turn.
#[inline]
pub(crate) fn ticks(read: impl FnOnce() -> u64) -> u64 {
    reading(Heard::Ticks, read, |tape| &mut tape.ticks)
}

/// A time in nanoseconds, as a reading of a clock.
#[inline]
pub fn time(read: impl FnOnce() -> u64) -> u64 {
    reading(Heard::Time, read, |tape| &mut tape.time)
}

#[inline]
fn reading(
    what: Heard,
    read: impl FnOnce() -> u64,
    before: impl FnOnce(&mut Tape) -> &mut u64,
) -> u64 {
    match MODE.get() {
        Mode::Off => read(),
        Mode::Writing => TAPE.with_borrow_mut(|tape| {
            let now = read();
            let step = now.wrapping_sub(std::mem::replace(before(tape), now)).cast_signed();
            // A step back is rare and small: its sign is the lowest bit.
            let step = ((step << 1) ^ (step >> 63)).cast_unsigned();
            Put(&mut tape.bytes).tagged(what, step);
            now
        }),
        Mode::Reading => TAPE.with_borrow_mut(|tape| {
            let step = tape.get(what, |from| from.number()).unwrap_or_default();
            let step = (step >> 1) ^ (step & 1).wrapping_neg();
            let last = before(tape);
            *last = last.wrapping_add(step);
            *last
        }),
    }
}

#[cfg(test)]
mod tests;
