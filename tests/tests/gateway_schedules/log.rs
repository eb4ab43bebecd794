//! What happened in a schedule, written down when somebody wants to read it.

use std::cell::RefCell;
use std::fmt;
use std::rc::Rc;

/// Lines, or nothing at no cost.
#[derive(Clone, Default)]
pub struct Log(Option<Rc<RefCell<Vec<String>>>>);

impl Log {
    pub fn kept() -> Self {
        Self(Some(Rc::default()))
    }

    pub fn note(&self, line: impl FnOnce() -> String) {
        if let Some(lines) = &self.0 {
            lines.borrow_mut().push(line());
        }
    }

    /// The last lines.
    pub fn tail(&self, count: usize) -> Vec<String> {
        let lines = self.0.as_ref().map(|lines| lines.borrow().clone()).unwrap_or_default();
        lines[lines.len().saturating_sub(count)..].to_vec()
    }
}

impl fmt::Debug for Log {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Log").field(&self.0.is_some()).finish()
    }
}
