//! What users and strategies can be called.

/// The most bytes of a name: forty of them fit a message to an operator.
pub const NAME_BYTES_MAX: usize = 64;

/// Whether a user or a strategy can be called so.
pub fn is_name(name: &str) -> bool {
    (1..=NAME_BYTES_MAX).contains(&name.len())
}
