//! `/proc/interrupts`: how often each line interrupted each CPU.

use std::collections::BTreeMap;

use serde::Serialize;

/// A line: a device's, by its number, or one of the processor's own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InterruptLine {
    /// What it is: `eth0-rx-0`, `Local timer interrupts`.
    pub what: String,
    /// How often since the boot, by CPU.
    pub counts: BTreeMap<usize, u64>,
}

/// How often a line interrupted a CPU.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct InterruptCount {
    /// Its name: `41`, `LOC`.
    pub line: String,
    /// What it is.
    pub what: String,
    /// How often.
    pub count: u64,
}

impl InterruptCount {
    /// What people know it by: a device's line by what it is, one of the processor's own by its
    /// name.
    #[must_use]
    pub fn label(&self) -> &str {
        if is_device(&self.line) { &self.what } else { &self.line }
    }
}

/// All lines, by their names: `41`, `LOC`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Interrupts(pub BTreeMap<String, InterruptLine>);

impl Interrupts {
    /// The lines of the kernel's table. What is no line of it is left out.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let mut lines = text.lines();
        let heads = lines.next().unwrap_or_default().split_ascii_whitespace();
        let cpus: Vec<usize> =
            heads.filter_map(|head| head.strip_prefix("CPU")?.parse().ok()).collect();
        let line = |line: &str| {
            let (name, rest) = line.split_once(':')?;
            let mut words = rest.split_ascii_whitespace().peekable();
            let mut counts = BTreeMap::new();
            for cpu in &cpus {
                let Some(count) = words.peek().and_then(|word| word.parse().ok()) else { break };
                counts.insert(*cpu, count);
                words.next();
            }
            let words: Vec<&str> = words.collect();
            // A device's line names its controller first and its driver last.
            let is_device = is_device(name.trim());
            let what = if is_device {
                words.last().copied().unwrap_or_default().to_owned()
            } else {
                words.join(" ")
            };
            Some((name.trim().to_owned(), InterruptLine { what, counts }))
        };
        Self(lines.filter_map(line).collect())
    }

    /// What came to a CPU since `earlier`, the most frequent first.
    #[must_use]
    pub fn since(&self, earlier: &Self, cpu: usize) -> Vec<InterruptCount> {
        let count = |lines: &Self, name: &str| {
            lines.0.get(name).and_then(|line| line.counts.get(&cpu)).copied().unwrap_or(0)
        };
        let delta = |(name, line): (&String, &InterruptLine)| {
            let count = count(self, name).saturating_sub(count(earlier, name));
            let (line, what) = (name.clone(), line.what.clone());
            (count > 0).then_some(InterruptCount { line, what, count })
        };
        let mut came: Vec<_> = self.0.iter().filter_map(delta).collect();
        came.sort_by_key(|it| std::cmp::Reverse(it.count));
        came
    }
}

/// Whether a line is a device's, which can be sent to another CPU.
#[must_use]
pub fn is_device(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "           CPU0       CPU2
 41:       7125          3 PCI-MSIX-0000:00:04.0   1-edge      virtio3-rx
LOC:    6046675    6078691   Local timer interrupts
ERR:          0
";

    #[test]
    fn lines_are_counted_by_cpu_also_where_numbers_are_missing() {
        let lines = Interrupts::parse(TEXT);
        assert_eq!(lines.0.len(), 3);
        let device = lines.0.get("41").expect("the device's line");
        assert_eq!((device.what.as_str(), device.counts.get(&2)), ("virtio3-rx", Some(&3)));
        assert_eq!(lines.0.get("ERR").map(|line| line.counts.len()), Some(1));
        let later =
            Interrupts::parse(&TEXT.replace("6078691", "6078701").replace(" 3 PCI", " 4 PCI"));
        let came = later.since(&lines, 2);
        let told: Vec<_> = came.iter().map(|it| (it.line.as_str(), it.label(), it.count)).collect();
        assert_eq!(told, [("LOC", "LOC", 10), ("41", "virtio3-rx", 1)]);
        assert_eq!(came.first().map(|it| it.what.as_str()), Some("Local timer interrupts"));
        assert_eq!(later.since(&lines, 0), []);
        assert_eq!(Interrupts::parse(""), Interrupts::default());
    }
}
