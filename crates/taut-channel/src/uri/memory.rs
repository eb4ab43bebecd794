//! `ipc:NAME`, `aeron:ipc?stream-id=N` and `inproc:NAME`.

use crate::uri::error::UriError;
use crate::uri::parameters::Parameters;
use crate::uri::value;

const NAME: &str = "1 to 64 letters, digits, dots, dashes or underscores, not beginning with a dot \
                    (a path is ZMTP: ipc://PATH)";
const CAPACITY: &str = "a power of two of at least 4k bytes, such as 1m";
const PARAMETERS: &[&str] = &["capacity"];
const ALIAS_PARAMETERS: &[&str] = &["stream-id", "capacity"];

/// `ipc:NAME[?capacity=BYTES]`: shared memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IpcUri {
    /// The channel's name.
    pub name: String,
    /// The log's capacity in bytes, for who creates it; the longest message is an eighth of it.
    pub capacity_bytes: Option<usize>,
}

/// `inproc:NAME[?capacity=BYTES]`: a ring within the process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InprocUri {
    /// The ring's name.
    pub name: String,
    /// As of [`IpcUri`].
    pub capacity_bytes: Option<usize>,
}

impl IpcUri {
    pub(crate) fn parse(rest: &str) -> Result<Self, UriError> {
        let (name, query) = rest.split_once('?').unwrap_or((rest, ""));
        let capacity_bytes = capacity(&parameters(query, PARAMETERS)?)?;
        Ok(Self { name: checked_name(name)?, capacity_bytes })
    }

    /// `ipc?stream-id=N` behind `aeron:`.
    pub(crate) fn alias(rest: &str) -> Result<Self, UriError> {
        let query = rest.strip_prefix("ipc").unwrap_or(rest);
        let query = query.strip_prefix('?').unwrap_or(query);
        let parameters = parameters(query, ALIAS_PARAMETERS)?;
        let stream =
            parameters.value("stream-id", value::NUMBER, |text| text.parse::<i32>().ok())?;
        let why = "it names the stream, as in aeron:ipc?stream-id=1001";
        let stream = stream.ok_or(UriError::Absent { name: "stream-id", why })?;
        Ok(Self { name: format!("stream.{stream}"), capacity_bytes: capacity(&parameters)? })
    }
}

impl InprocUri {
    pub(crate) fn parse(rest: &str) -> Result<Self, UriError> {
        let (name, query) = rest.split_once('?').unwrap_or((rest, ""));
        let capacity_bytes = capacity(&parameters(query, PARAMETERS)?)?;
        Ok(Self { name: checked_name(name)?, capacity_bytes })
    }
}

fn parameters<'a>(
    query: &'a str,
    known: &'static [&'static str],
) -> Result<Parameters<'a>, UriError> {
    Parameters::split(query, &['|', '&'], known, &[])
}

fn capacity(parameters: &Parameters<'_>) -> Result<Option<usize>, UriError> {
    parameters.value("capacity", CAPACITY, |text| {
        let bytes = usize::try_from(value::size(text)?).ok()?;
        (bytes.is_power_of_two() && (4096..=1 << 34).contains(&bytes)).then_some(bytes)
    })
}

fn checked_name(name: &str) -> Result<String, UriError> {
    let letter = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    let sound = (1..=64).contains(&name.len())
        && name.bytes().all(letter)
        && !name.starts_with('.')
        && !name.ends_with(".lock");
    if sound {
        Ok(name.to_owned())
    } else {
        Err(UriError::Name { found: name.to_owned(), wanted: NAME })
    }
}
