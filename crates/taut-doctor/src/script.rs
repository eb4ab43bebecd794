//! What mends a machine, as a script to read first and then to run.

use std::fmt::Write;

use crate::finding::{Fix, Verdict};
use crate::judged::Judged;

const HEAD: &str = "\
#!/bin/sh
# What `taut doctor` would change on this machine. Read it, strike out what you do not want, and run
# the rest as root. Commands hold until the next boot, but for those that are marked: they change
# files or services, and hold until that is taken back. Parameters of the kernel's command line hold
# from the next boot on. Mitigations, audit, io_uring and capabilities are left to you.
set -u
";

/// Adds parameters to the kernel's command line by whatever the machine has for that.
const BOOT: &str = r#"
if command -v grubby >/dev/null 2>&1; then
    grubby --update-kernel=ALL --args="$parameters"
elif [ -f /etc/default/grub ]; then
    cp /etc/default/grub /etc/default/grub.before-taut
    # The kernel takes the first list of CPUs: an earlier one goes.
    for parameter in $parameters; do
        sed -i "/^GRUB_CMDLINE_LINUX/s|\([\" ]\)${parameter%%=*}=[^\" ]*|\1|g" /etc/default/grub
    done
    sed -i "s|^GRUB_CMDLINE_LINUX=\"\(.*\)\"|GRUB_CMDLINE_LINUX=\"\1 $parameters\"|" \
        /etc/default/grub
    if command -v update-grub >/dev/null 2>&1; then
        update-grub
    else
        grub2-mkconfig -o /boot/grub2/grub.cfg
    fi
else
    echo "add to the kernel's command line by hand: $parameters" >&2
fi
"#;

/// The script for all checks that are wrong. It passes `sh -n`, whatever the machine said.
pub fn script(checks: &[Judged], container: Option<&str>) -> String {
    let mut text = HEAD.to_owned();
    if let Some(name) = container {
        let _ = writeln!(text, "# This was a {name} container: most of it belongs to the host.");
    }
    let mut parameters: Vec<&str> = Vec::new();
    for check in checks.iter().filter(|check| check.verdict == Verdict::Wrong) {
        let Some(fix) = &check.fix else { continue };
        let comment = |text: &str| text.replace(['\n', '\r'], " ");
        let _ = write!(
            text,
            "\n# {} ({}): {}\n#   should be: {}\n#   costs: {}\n",
            check.name,
            check.severity.name(),
            comment(&check.found),
            check.wanted,
            check.cost
        );
        let _ = match fix {
            Fix::Command(command) => writeln!(text, "{command}"),
            Fix::Permanent(command) => {
                writeln!(text, "#   holds until it is taken back:\n{command}")
            }
            Fix::Advice(advice) => writeln!(text, "#   by hand: {}", comment(advice)),
            Fix::Boot(parameter) => {
                parameters.push(parameter);
                writeln!(text, "#   below, with the kernel's command line: {parameter}")
            }
        };
    }
    if !parameters.is_empty() {
        let all = parameters.join(" ");
        let _ = write!(text, "\n# The kernel's command line\nparameters='{all}'{BOOT}");
    }
    text
}
