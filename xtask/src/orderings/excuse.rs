//! The list of mutants that live, and why each is no loss.
//!
//! An entry is `file | the line | weaker | reason`, the line followed by `(2)` where it is the
//! second of its kind in the file; lines that begin with `#` or a space go on or explain.

use super::site::Mutant;

/// One entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Excuse {
    file: String,
    code: String,
    weaker: String,
    /// Its line in the list.
    pub line: usize,
}

impl Excuse {
    /// Whether it speaks of this mutant.
    pub fn covers(&self, mutant: &Mutant) -> bool {
        let repeat =
            if mutant.repeat > 1 { format!(" ({})", mutant.repeat) } else { String::new() };
        let code = format!("{}{repeat}", mutant.code);
        self.file == mutant.file && self.code == code && self.weaker == mutant.weaker
    }
}

/// Reads the list.
pub fn parse(text: &str) -> Result<Vec<Excuse>, String> {
    let mut excuses = Vec::new();
    for (line, entry) in (1..).zip(text.lines()) {
        if entry.is_empty() || entry.starts_with(['#', ' ']) {
            continue;
        }
        // The line itself may have a bar in it: a closure, an or.
        let parts: Vec<&str> = entry.split(" | ").map(str::trim).collect();
        match parts[..] {
            [file, ref code @ .., weaker, reason] if !code.is_empty() && !reason.is_empty() => {
                let (file, weaker) = (file.to_owned(), weaker.to_owned());
                excuses.push(Excuse { file, code: code.join(" | "), weaker, line });
            }
            _ => return Err(format!("line {line}: `file | the line | weaker | reason`")),
        }
    }
    Ok(excuses)
}

#[cfg(test)]
mod tests {
    use super::{Mutant, parse};

    #[test]
    fn an_entry_covers_its_mutant_and_no_other() {
        let list = "# why\na.rs | x.load(A) | y (2) | Relaxed | because\n  of that\n";
        let excuses = parse(list).unwrap();
        let mutant = Mutant {
            file: "a.rs".to_owned(),
            code: "x.load(A) | y".to_owned(),
            repeat: 2,
            weaker: "Relaxed",
            line: 7,
        };
        assert_eq!((excuses.len(), excuses[0].line), (1, 2));
        assert!(excuses[0].covers(&mutant));
        assert!(!excuses[0].covers(&Mutant { repeat: 1, ..mutant.clone() }));
        assert!(!excuses[0].covers(&Mutant { weaker: "Acquire", ..mutant }));
        assert!(parse("a.rs | x.load(A) | Relaxed |").is_err());
    }
}
