//! The drawings of the report.
//!
//! Each is drawn twice, for wide and for narrow screens (text in a drawing shrinks with it); the
//! style sheet shows one of the two.

mod breakdown;
mod frame;
mod percentiles;
mod timeline;

pub use breakdown::{Bar, breakdown};
pub use frame::{Layout, NARROW, WIDE};
pub use percentiles::percentiles;
pub use timeline::timeline;
