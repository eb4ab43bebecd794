//! Pages that refer to nothing outside themselves, and tables.

use maud::{DOCTYPE, Markup, PreEscaped, html};

const STYLE: &str = include_str!("page.css");

/// A page in the house's style.
#[must_use]
pub fn page(title: &str, body: &Markup) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) }
                style { (PreEscaped(STYLE)) }
            }
            body { main { (body) } }
        }
    };
    page.into_string()
}

/// A table of text.
#[derive(Clone, Debug)]
pub struct Table<'a> {
    /// The columns' headings.
    pub heads: &'a [&'a str],
    /// The rows, each with a cell for every heading.
    pub rows: Vec<Vec<String>>,
}

impl Table<'_> {
    /// In Markdown, without a newline at the end.
    #[must_use]
    pub fn markdown(&self) -> String {
        let line = |cells: &[String]| format!("\n| {} |", cells.join(" | "));
        let rows: String = self.rows.iter().map(|row| line(row)).collect();
        format!("| {} |\n|{}{rows}", self.heads.join(" | "), "---|".repeat(self.heads.len()))
    }

    /// In HTML.
    #[must_use]
    pub fn html(&self) -> Markup {
        html! {
            div.scroll {
                table.numbers {
                    thead { tr { @for head in self.heads { th scope="col" { (head) } } } }
                    tbody {
                        @for row in &self.rows { tr { @for cell in row { td { (cell) } } } }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cell_is_in_the_text_and_in_the_page() {
        let rows = vec![vec!["1".to_owned(), "a<b".to_owned()]; 2];
        let table = Table { heads: &["n", "name"], rows };
        assert_eq!(table.markdown(), "| n | name |\n|---|---|\n| 1 | a<b |\n| 1 | a<b |");
        let page = page("t", &table.html());
        assert_eq!(page.matches("<td>a&lt;b</td>").count(), 2);
        assert!(page.starts_with("<!DOCTYPE html>"));
    }
}
