//! The page's files. They are in the program: nothing is read from the disk or from elsewhere.

use super::http::{Answer, HTML};

/// Path, kind and text of each.
const FILES: [(&str, &str, &str); 14] = [
    ("/", HTML, include_str!("page/desk.html")),
    ("/desk.css", "text/css; charset=utf-8", include_str!("page/desk.css")),
    ("/icon.svg", "image/svg+xml", include_str!("page/icon.svg")),
    ("/desk.js", SCRIPT, include_str!("page/desk.js")),
    ("/format.js", SCRIPT, include_str!("page/format.js")),
    ("/plots.js", SCRIPT, include_str!("page/plots.js")),
    ("/tables.js", SCRIPT, include_str!("page/tables.js")),
    ("/overview.js", SCRIPT, include_str!("page/overview.js")),
    ("/latency.js", SCRIPT, include_str!("page/latency.js")),
    ("/market.js", SCRIPT, include_str!("page/market.js")),
    ("/orders.js", SCRIPT, include_str!("page/orders.js")),
    ("/lives.js", SCRIPT, include_str!("page/lives.js")),
    ("/lists.js", SCRIPT, include_str!("page/lists.js")),
    ("/runs.js", SCRIPT, include_str!("page/runs.js")),
];
const SCRIPT: &str = "text/javascript; charset=utf-8";

/// The file at this path.
pub fn file(path: &str) -> Option<Answer> {
    let (_, kind, text) = FILES.iter().find(|(it, ..)| *it == path)?;
    Some(Answer::new(200, kind, *text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_knows_the_stages_in_their_order() {
        let (_, _, script) = FILES.iter().find(|(path, ..)| *path == "/orders.js").expect("it");
        let (_, rest) = script.split_once("export const STAGES = [").expect("a list");
        let (list, _) = rest.split_once(']').expect("its end");
        let names: Vec<_> = list.split('"').skip(1).step_by(2).collect();
        assert_eq!(names, taut_lat::Stage::ALL.map(taut_lat::Stage::name));
    }

    #[test]
    fn the_page_names_no_other_place() {
        for (path, _, text) in FILES {
            for (at, _) in text.match_indices("//") {
                let before = text.get(..at).and_then(|it| it.chars().last());
                let line = text.get(at..).and_then(|it| it.lines().next()).unwrap_or_default();
                let allowed = ["//www.w3.org/2000/svg", "//${location.host}"];
                let is_ours = allowed.iter().any(|it| line.starts_with(it));
                assert!(before != Some(':') || is_ours, "{path}: {line}");
            }
            assert!(!text.contains("@import") && !text.contains("innerHTML"), "{path}");
        }
        let Some(page) = file("/") else { panic!("no page") };
        let page = String::from_utf8(page.body).expect("text");
        for (path, ..) in FILES.iter().filter(|(path, ..)| *path != "/") {
            let is_named = page.contains(path) || FILES.iter().any(|it| it.2.contains(path));
            assert!(is_named, "{path} is used");
        }
        assert!(!page.contains("<style") && !page.contains(" style="), "its policy forbids it");
    }
}
