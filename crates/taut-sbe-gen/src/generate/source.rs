//! Source text under construction.

/// How wide a line is at the most.
const COLUMNS_MAX: usize = 100;

/// The last place where so many columns can end: behind a comma, or before the call of a method.
fn break_before(line: &str, room: usize) -> Option<usize> {
    let head = line.get(..room)?;
    let comma = head.rfind(", ").map(|at| at + 2);
    let call = head.rfind(").").map(|at| at + 1);
    comma.max(call)
}

/// Lines of Rust, indented by the brackets that are open.
#[derive(Debug, Default)]
pub(crate) struct Source {
    text: String,
    depth: usize,
}

impl Source {
    /// One or more lines. A line that ends with an opening bracket indents what follows it; one
    /// that starts with a closing bracket takes that back.
    pub(crate) fn line(&mut self, text: impl AsRef<str>) {
        for line in text.as_ref().lines() {
            let line = line.trim();
            let comment = line.starts_with("//");
            if !comment && line.starts_with(['}', ')', ']']) {
                self.depth = self.depth.saturating_sub(1);
            }
            self.wrapped(line, comment);
            if !comment && line.ends_with(['{', '(', '[']) {
                self.depth += 1;
            }
        }
    }

    /// Pushes a line, broken where it would be too wide. Comments and texts stay whole.
    fn wrapped(&mut self, line: &str, comment: bool) {
        let (mut rest, mut depth) = (line, self.depth);
        while !rest.is_empty() {
            self.text.extend(std::iter::repeat_n("    ", depth));
            let room = COLUMNS_MAX.saturating_sub(4 * depth);
            let fits = rest.len() <= room || comment || line.contains('"') || !line.is_ascii();
            let at = if fits { None } else { break_before(rest, room) };
            let (head, tail) = rest.split_at(at.unwrap_or(rest.len()));
            self.text.push_str(head.trim_end());
            if !tail.is_empty() {
                self.text.push('\n');
                depth = self.depth + 1;
            }
            rest = tail.trim_start();
        }
        self.text.push('\n');
    }

    /// An empty line between items.
    pub(crate) fn gap(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with("\n\n") && !self.text.ends_with("{\n") {
            self.text.push('\n');
        }
    }

    /// A documentation comment, from a schema's words.
    pub(crate) fn doc(&mut self, text: &str) {
        for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let mut words = String::new();
            for word in line.split_whitespace() {
                if words.len() + word.len() > 90 {
                    self.line(format!("/// {words}"));
                    words.clear();
                }
                if !words.is_empty() {
                    words.push(' ');
                }
                for letter in word.chars() {
                    if matches!(letter, '[' | ']' | '<' | '>' | '`' | '*' | '_' | '\\') {
                        words.push('\\');
                    }
                    words.push(letter);
                }
            }
            self.line(format!("/// {words}"));
        }
    }

    /// The text.
    pub(crate) fn finish(self) -> String {
        self.text
    }
}
