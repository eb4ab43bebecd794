//! The primitive types of SBE and the values that a schema writes down for them.

/// A primitive type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Primitive {
    /// One byte of text.
    Char,
    /// An integer of this many bytes.
    Int {
        /// 1, 2, 4 or 8.
        bytes: usize,
        /// Whether it has a sign.
        signed: bool,
    },
    /// IEEE 754 binary32.
    Float,
    /// IEEE 754 binary64.
    Double,
}

impl Primitive {
    /// The type that SBE gives this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        let int = |bytes, signed| Some(Self::Int { bytes, signed });
        match name {
            "char" => Some(Self::Char),
            "int8" => int(1, true),
            "int16" => int(2, true),
            "int32" => int(4, true),
            "int64" => int(8, true),
            "uint8" => int(1, false),
            "uint16" => int(2, false),
            "uint32" => int(4, false),
            "uint64" => int(8, false),
            "float" => Some(Self::Float),
            "double" => Some(Self::Double),
            _ => None,
        }
    }

    /// Its name in SBE.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Char => "char",
            Self::Int { bytes: 1, signed: true } => "int8",
            Self::Int { bytes: 2, signed: true } => "int16",
            Self::Int { bytes: 4, signed: true } => "int32",
            Self::Int { signed: true, .. } => "int64",
            Self::Int { bytes: 1, signed: false } => "uint8",
            Self::Int { bytes: 2, signed: false } => "uint16",
            Self::Int { bytes: 4, signed: false } => "uint32",
            Self::Int { signed: false, .. } => "uint64",
            Self::Float => "float",
            Self::Double => "double",
        }
    }

    /// Its type in Rust.
    #[must_use]
    pub const fn rust(self) -> &'static str {
        match self {
            Self::Char => "u8",
            Self::Int { bytes: 1, signed: true } => "i8",
            Self::Int { bytes: 2, signed: true } => "i16",
            Self::Int { bytes: 4, signed: true } => "i32",
            Self::Int { signed: true, .. } => "i64",
            Self::Int { bytes: 1, signed: false } => "u8",
            Self::Int { bytes: 2, signed: false } => "u16",
            Self::Int { bytes: 4, signed: false } => "u32",
            Self::Int { signed: false, .. } => "u64",
            Self::Float => "f32",
            Self::Double => "f64",
        }
    }

    /// Its encoded length.
    #[must_use]
    pub const fn bytes(self) -> usize {
        match self {
            Self::Char => 1,
            Self::Int { bytes, .. } => bytes,
            Self::Float => 4,
            Self::Double => 8,
        }
    }

    /// Whether it is an integer without a sign.
    #[must_use]
    pub const fn is_unsigned(self) -> bool {
        matches!(self, Self::Int { signed: false, .. })
    }

    /// The smallest and the largest number that its bytes can hold; nothing for floats.
    #[must_use]
    pub const fn range(self) -> Option<(i128, i128)> {
        match self {
            Self::Char => Some((0, 255)),
            Self::Int { bytes, signed: true } => {
                let half = 1i128 << (8 * bytes - 1);
                Some((-half, half - 1))
            }
            Self::Int { bytes, signed: false } => Some((0, (1i128 << (8 * bytes)) - 1)),
            Self::Float | Self::Double => None,
        }
    }

    /// The value that stands for "no value" when the schema names no other.
    #[must_use]
    pub const fn null(self) -> Literal {
        match self {
            Self::Char => Literal::Int(0),
            Self::Int { bytes, signed: true } => Literal::Int(-(1i128 << (8 * bytes - 1))),
            Self::Int { bytes, signed: false } => Literal::Int((1i128 << (8 * bytes)) - 1),
            Self::Float | Self::Double => Literal::Float(f64::NAN),
        }
    }

    /// Reads a value as a schema writes it: a number, or one character for `char`.
    pub(crate) fn parse(self, text: &str) -> Result<Literal, String> {
        let trimmed = text.trim();
        let number = || {
            let hex = trimmed.strip_prefix("0x").or_else(|| trimmed.strip_prefix("0X"));
            hex.map_or_else(|| trimmed.parse().ok(), |digits| i128::from_str_radix(digits, 16).ok())
        };
        match self {
            Self::Char => match (trimmed.as_bytes(), text.as_bytes()) {
                ([byte], _) => Ok(Literal::Int(i128::from(*byte))),
                ([], [b' ', ..]) => Ok(Literal::Int(i128::from(b' '))),
                _ => number()
                    .filter(|value| (0..=255).contains(value))
                    .map(Literal::Int)
                    .ok_or_else(|| format!("\"{trimmed}\" is not one character")),
            },
            Self::Int { .. } => {
                let value = number().ok_or_else(|| format!("\"{trimmed}\" is not a number"))?;
                let (min, max) = self.range().unwrap_or_default();
                if (min..=max).contains(&value) {
                    Ok(Literal::Int(value))
                } else {
                    Err(format!("{value} does not fit {} ({min} to {max})", self.name()))
                }
            }
            Self::Float | Self::Double => trimmed
                .parse()
                .map(Literal::Float)
                .map_err(|_| format!("\"{trimmed}\" is not a number")),
        }
    }
}

/// A value that a schema writes down.
#[derive(Clone, Debug, PartialEq)]
pub enum Literal {
    /// An integer, or the code of a character.
    Int(i128),
    /// A float.
    Float(f64),
    /// The bytes of a text.
    Bytes(Vec<u8>),
}

/// In which order the bytes of a number stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ByteOrder {
    /// The least significant byte first.
    Little,
    /// The most significant byte first.
    Big,
}

/// How the bytes of a text are characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Charset {
    /// ASCII or UTF-8.
    Utf8,
    /// ISO 8859-1: every byte is the character of its number.
    Latin1,
    /// Another one: only the bytes are given.
    Other,
}

impl Charset {
    pub(crate) fn from_name(name: &str) -> Self {
        let name: String =
            name.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_lowercase();
        match name.as_str() {
            "utf8" | "ascii" | "usascii" | "iso646us" => Self::Utf8,
            "iso88591" | "latin1" => Self::Latin1,
            _ => Self::Other,
        }
    }
}

impl ByteOrder {
    /// The bytes of a value; a text's own.
    pub(crate) fn encode(self, primitive: Primitive, value: &Literal) -> Vec<u8> {
        let width = primitive.bytes();
        match (value, primitive) {
            (Literal::Bytes(bytes), _) => bytes.clone(),
            (Literal::Int(value), Primitive::Float | Primitive::Double) =>
            {
                #[expect(clippy::cast_precision_loss, reason = "the schema asks for a float")]
                self.encode(primitive, &Literal::Float(*value as f64))
            }
            (Literal::Int(value), _) => self.low_bytes(*value, width),
            (Literal::Float(value), Primitive::Float) =>
            {
                #[expect(clippy::cast_possible_truncation, reason = "the type is binary32")]
                self.low_bytes((*value as f32).to_bits().into(), width)
            }
            (Literal::Float(value), _) => self.low_bytes(value.to_bits().into(), width),
        }
    }

    fn low_bytes(self, value: i128, width: usize) -> Vec<u8> {
        let mut bytes: Vec<u8> = value.to_le_bytes().into_iter().take(width).collect();
        if self == Self::Big {
            bytes.reverse();
        }
        bytes
    }
}
