//! The runtime of stand-alone source: the text of the crate `taut-sbe` as one module.

const ROOT: &str = include_str!("../../../taut-sbe/src/lib.rs");
const MODULES: [(&str, &str); 4] = [
    ("bytes", include_str!("../../../taut-sbe/src/bytes.rs")),
    ("error", include_str!("../../../taut-sbe/src/error.rs")),
    ("group", include_str!("../../../taut-sbe/src/group.rs")),
    ("show", include_str!("../../../taut-sbe/src/show.rs")),
];

/// What stands in the module: `taut-sbe` without its documentation and attributes, and with its
/// files in it.
pub(crate) fn runtime() -> String {
    let is_head = |line: &&str| line.starts_with("//!") || line.starts_with("#![");
    let mut text = String::from("// What every generated codec needs.\n");
    for line in ROOT.lines().skip_while(|line| is_head(line) || line.is_empty()) {
        let module = line.strip_prefix("mod ").and_then(|name| name.strip_suffix(';'));
        match MODULES.iter().find(|(name, _)| Some(*name) == module) {
            Some((name, source)) => text.push_str(&format!("mod {name} {{\n{source}}}\n")),
            None => text.extend([line, "\n"]),
        }
    }
    text
}
