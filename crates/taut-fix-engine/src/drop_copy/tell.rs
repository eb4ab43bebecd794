//! Who is told what a person should know.

use std::fmt;
use std::sync::Arc;

/// Is told, in words, what a person should know of sessions that nobody watches.
#[derive(Clone)]
pub struct Tell(Arc<dyn Fn(&str) + Send + Sync>);

impl Tell {
    /// Tells it so, on the thread on which it happens: whoever is told makes no wait of it.
    pub fn new(tell: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self(Arc::new(tell))
    }

    /// Tells these words.
    pub fn say(&self, words: &str) {
        (self.0)(words);
    }
}

impl fmt::Debug for Tell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tell")
    }
}
