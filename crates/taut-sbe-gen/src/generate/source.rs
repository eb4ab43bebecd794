//! Source text under construction.

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
            if !line.is_empty() {
                self.text.extend(std::iter::repeat_n("    ", self.depth));
                self.text.push_str(line);
            }
            self.text.push('\n');
            if !comment && line.ends_with(['{', '(', '[']) {
                self.depth += 1;
            }
        }
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
