//! The two clocks: the loop's, and what UTC it is then.

use taut_fix::Now;
use taut_io::{Io, Kernel};
use taut_types::Nanos;

/// UTC at a moment of the loop's monotonic clock. A simulated loop has one of its own.
pub type Clock = fn(Nanos) -> Nanos;

/// The system's, at the moment of the call.
pub fn system(_: Nanos) -> Nanos {
    taut_sys::utc()
}

/// Both clocks.
pub fn read<K: Kernel>(io: &Io<K>, clock: Clock) -> Now {
    let mono = io.now();
    Now { mono, utc: clock(mono) }
}
