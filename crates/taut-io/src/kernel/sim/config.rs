//! How a simulated network behaves.

/// How the simulated network behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SimConfig {
    /// Decides everything that is random.
    pub seed: u64,
    /// What travels takes up to this long.
    pub delay_ns_max: u64,
    /// A receive gives and a send takes any part of what it could.
    pub is_partial: bool,
    /// Bytes of a stream under way or unread before a send is blocked.
    pub window_bytes: usize,
    /// Datagrams lost, of a thousand.
    pub lost_per_mille: u64,
    /// Datagrams that arrive twice, of a thousand.
    pub duplicated_per_mille: u64,
    /// Sends of datagrams that find no room, of a thousand.
    pub full_per_mille: u64,
    /// Connections that break while they wait to be accepted, of a thousand.
    pub aborted_per_mille: u64,
    /// Virtual time of a look that does not wait.
    pub look_ns: i64,
}

impl Default for SimConfig {
    fn default() -> Self {
        Self {
            seed: 1,
            delay_ns_max: 20_000,
            is_partial: true,
            window_bytes: 4096,
            lost_per_mille: 0,
            duplicated_per_mille: 0,
            full_per_mille: 0,
            aborted_per_mille: 0,
            look_ns: 100,
        }
    }
}
