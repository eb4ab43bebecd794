//! A decoder of sixteen groups and four texts, in safe code: with `rustc -O` it reads outside of
//! memory. See README.md.
#![forbid(unsafe_code)]
#![allow(dead_code)]

use std::hint::black_box;

#[derive(Clone, Copy, Debug)]
pub struct Cut {
    left: usize,
    truncated: bool,
}
#[derive(Debug)]
pub enum DecodeError {
    Truncated { offset: usize },
    Malformed { offset: usize },
    OtherTemplate { template: u64 },
}
impl Cut {
    fn within(self, whole: &[u8]) -> DecodeError {
        let offset = whole.len().saturating_sub(self.left);
        if self.truncated {
            DecodeError::Truncated { offset }
        } else {
            DecodeError::Malformed { offset }
        }
    }
}

#[derive(Clone, Copy)]
pub struct Group<'a> {
    bytes: &'a [u8],
    count: usize,
    length: usize,
    version: u32,
}

#[inline(always)]
fn split_at(bytes: &[u8], len: usize) -> Result<(&[u8], &[u8]), Cut> {
    bytes.split_at_checked(len).ok_or(Cut { left: bytes.len(), truncated: true })
}

macro_rules! group {
    ($name:ident, $l:ty, $c:ty) => {
        #[inline(always)]
        fn $name<'a>(bytes: &'a [u8], version: u32) -> Result<(Group<'a>, &'a [u8]), Cut> {
            const L: usize = size_of::<$l>();
            const C: usize = size_of::<$c>();
            let (head, rest) = bytes
                .split_first_chunk::<{ L + C }>()
                .ok_or(Cut { left: bytes.len(), truncated: true })?;
            let (l, c) = head.split_at(L);
            let length = usize::try_from(<$l>::from_le_bytes(*l.first_chunk().unwrap_or(&[0; L])))
                .or(Err(Cut { left: bytes.len(), truncated: false }))?;
            let count = usize::try_from(<$c>::from_le_bytes(*c.first_chunk().unwrap_or(&[0; C])))
                .or(Err(Cut { left: bytes.len(), truncated: false }))?;
            if (length < 2 && count > 0) || (length == 0 && count > 65535) {
                return Err(Cut { left: rest.len(), truncated: false });
            }
            let len = count.checked_mul(length).ok_or(Cut { left: rest.len(), truncated: true })?;
            let (bytes, rest) = split_at(rest, len)?;
            Ok((Group { bytes, count, length, version }, rest))
        }
    };
}
group!(g11, u8, u8);
group!(g12, u8, u16);
group!(g14, u8, u32);
group!(g18, u8, u64);
group!(g21, u16, u8);
group!(g22, u16, u16);
group!(g24, u16, u32);
group!(g28, u16, u64);
group!(g41, u32, u8);
group!(g42, u32, u16);
group!(g44, u32, u32);
group!(g48, u32, u64);
group!(g81, u64, u8);
group!(g82, u64, u16);
group!(g84, u64, u32);
group!(g88, u64, u64);
macro_rules! data {
    ($name:ident, $l:ty) => {
        #[inline(always)]
        fn $name(bytes: &[u8]) -> Result<(&[u8], &[u8]), Cut> {
            let (head, rest) =
                bytes.split_first_chunk().ok_or(Cut { left: bytes.len(), truncated: true })?;
            split_at(
                rest,
                usize::try_from(<$l>::from_le_bytes(*head))
                    .or(Err(Cut { left: bytes.len(), truncated: false }))?,
            )
        }
    };
}
data!(d1, u8);
data!(d2, u16);
data!(d4, u32);
data!(d8, u64);

#[derive(Clone, Copy)]
pub struct Groups<'a> {
    block: &'a [u8],
    version: u32,
    groups: [Group<'a>; 16],
    data: [&'a [u8]; 4],
}

impl<'a> Groups<'a> {
    #[inline]
    fn split(bytes: &'a [u8], length: usize, version: u32) -> Result<(Self, &'a [u8]), Cut> {
        let (block, rest) = split_at(bytes, length)?;
        let (a, rest) = g11(rest, version)?;
        let (b, rest) = g12(rest, version)?;
        let (c, rest) = g14(rest, version)?;
        let (d, rest) = g18(rest, version)?;
        let (e, rest) = g21(rest, version)?;
        let (f, rest) = g22(rest, version)?;
        let (g, rest) = g24(rest, version)?;
        let (h, rest) = g28(rest, version)?;
        let (i, rest) = g41(rest, version)?;
        let (j, rest) = g42(rest, version)?;
        let (k, rest) = g44(rest, version)?;
        let (l, rest) = g48(rest, version)?;
        let (m, rest) = g81(rest, version)?;
        let (n, rest) = g82(rest, version)?;
        let (o, rest) = g84(rest, version)?;
        let (p, rest) = g88(rest, version)?;
        let (q, rest) = d1(rest)?;
        let (r, rest) = d2(rest)?;
        let (s, rest) = d4(rest)?;
        let (t, rest) = d8(rest)?;
        Ok((
            Self {
                block,
                version,
                groups: [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p],
                data: [q, r, s, t],
            },
            rest,
        ))
    }
    #[inline]
    pub fn decode_prefix(bytes: &'a [u8]) -> Result<(Self, &'a [u8]), DecodeError> {
        let (head, body) =
            bytes.split_first_chunk::<8>().ok_or(DecodeError::Truncated { offset: 0 })?;
        let [l0, l1, t0, t1, _, _, v0, v1] = *head;
        let template = u64::from(u16::from_le_bytes([t0, t1]));
        if template != 65535 {
            return Err(DecodeError::OtherTemplate { template });
        }
        Self::split(body, u16::from_le_bytes([l0, l1]).into(), u16::from_le_bytes([v0, v1]).into())
            .map_err(|cut| cut.within(bytes))
    }
}
pub enum Message<'a> {
    Groups(Groups<'a>),
    Text(&'a [u8]),
}
impl<'a> Message<'a> {
    pub fn decode_prefix(bytes: &'a [u8]) -> Result<(Self, &'a [u8]), DecodeError> {
        let head = bytes.first_chunk::<8>().ok_or(DecodeError::Truncated { offset: 0 })?;
        match u16::from_le_bytes([head[2], head[3]]) {
            65535 => {
                Groups::decode_prefix(bytes).map(|(message, rest)| (Self::Groups(message), rest))
            }
            1 => d1(&bytes[8..])
                .map(|(text, rest)| (Self::Text(text), rest))
                .map_err(|cut| cut.within(bytes)),
            template => Err(DecodeError::OtherTemplate { template: template.into() }),
        }
    }
}

fn main() {
    // A header; groups of one entry of two bytes, behind lengths and counts of 1, 2, 4 and 8 bytes;
    // empty texts.
    let mut bytes = vec![0u8, 0, 255, 255, 255, 255, 0, 0];
    for l in [1usize, 2, 4, 8] {
        for c in [1usize, 2, 4, 8] {
            let mut d = vec![0u8; l + c];
            d[0] = 2;
            d[l] = 1;
            bytes.extend(d);
            bytes.extend([7, 0]);
        }
    }
    bytes.extend([0u8; 1 + 2 + 4 + 8]);
    let bytes = black_box(bytes);
    match Message::decode_prefix(&bytes) {
        Ok((m, rest)) => {
            black_box(&m);
            println!("{}", rest.len())
        }
        Err(e) => println!("{e:?}"),
    }
}
