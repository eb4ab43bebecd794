//! A unit of systemd.

use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Folders that systemd makes for the unit, and gives to its user.
const STATE: &str = "/var/lib";
const RUNTIME: &str = "/run/taut";
/// Folders for temporary files, which a unit may have for itself.
const SHARED: [&str; 2] = ["/tmp", "/var/tmp"];

/// What a unit is made of.
#[derive(Clone, Debug, Default)]
pub struct Unit {
    /// `gateway` or `venue`.
    pub kind: &'static str,
    pub name: String,
    pub binary: PathBuf,
    /// The words between the binary and `--config`.
    pub verb: Vec<String>,
    pub config: PathBuf,
    pub user: String,
    /// In seconds; 0 for none.
    pub watchdog: u32,
    pub scheduling: Scheduling,
    /// The CPU to which the thread that trades pins itself.
    pub own_cpu: Option<usize>,
    /// The CPUs for all other threads.
    pub other_cpus: Vec<usize>,
    /// Its control socket has a path of its own.
    pub has_control: bool,
    /// Folders into which it writes.
    pub writes: Vec<PathBuf>,
}

/// How the kernel schedules it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scheduling {
    /// As others, and before them.
    #[default]
    Nice,
    /// Before everything of a lower priority.
    Fifo(u8),
}

impl Unit {
    /// The name of its file.
    pub fn file_name(&self) -> String {
        format!("taut-{}-{}.service", self.kind, self.name)
    }

    /// The file.
    pub fn text(&self) -> String {
        let mut text = String::new();
        // A string takes it all.
        let _ = self.write(&mut text);
        text
    }

    fn write(&self, text: &mut String) -> std::fmt::Result {
        let Self { kind, name, config, user, .. } = self;
        let version = env!("CARGO_PKG_VERSION");
        let words = self.verb.join(" ");
        writeln!(
            text,
            "# Made by taut {version}: `taut install --systemd {}` makes it anew.\n\n[Unit]\n\
             Description=taut {kind} {name}\nDocumentation=man:taut-{kind}(1)\n\
             Wants=network-online.target\nAfter=network-online.target\n\
             # It is not started for ever: five times in five minutes.\n\
             StartLimitIntervalSec=300\nStartLimitBurst=5\n",
            config.display()
        )?;
        writeln!(
            text,
            "[Service]\nType=notify\nNotifyAccess=main\nUser={user}\n\
             ExecStart={} {words} --config {}",
            quoted(&self.binary),
            quoted(config)
        )?;
        if *kind == "gateway" {
            writeln!(text, "ExecReload=/bin/kill -HUP $MAINPID")?;
        }
        writeln!(
            text,
            "# Instruments that its file names by patterns wait for the venue to define them.\n\
             TimeoutStartSec=infinity\n\
             # Open orders are cancelled and the session is logged out.\nKillSignal=SIGTERM\n\
             TimeoutStopSec=30\nRestart=on-failure\nRestartSec=1\n\
             # Wrong settings do not become right.\nRestartPreventExitStatus=2"
        )?;
        if self.watchdog > 0 {
            writeln!(
                text,
                "# Its signs of life are those of the thread that trades.\nWatchdogSec={}",
                self.watchdog
            )?;
        }
        self.write_scheduling(text)?;
        writeln!(text, "\nLimitMEMLOCK=infinity\nLimitNOFILE=65536\nOOMScoreAdjust=-900")?;
        self.write_folders(text)?;
        writeln!(
            text,
            "\n# What would put a filter before each system call (SystemCallFilter=,\n\
             # RestrictAddressFamilies=, ProtectKernelTunables= and their like) is left out: an\n\
             # order would pay for it. PrivateDevices= too: clocks and latency hints are devices.\n\
             NoNewPrivileges=yes\nCapabilityBoundingSet={}\nProtectSystem=strict\n\
             ProtectHome=read-only\nPrivateTmp={}\nProtectControlGroups=yes\nUMask=0027\n\n\
             # The rate of messages is limited by the program itself, with counts.\n\
             LogRateLimitIntervalSec=0\n\n[Install]\nWantedBy=multi-user.target",
            match self.scheduling {
                Scheduling::Nice => "",
                Scheduling::Fifo(_) => "CAP_SYS_NICE",
            },
            if self.writes_for_all() { "no" } else { "yes" }
        )
    }

    /// Whether the file names folders for temporary files, where others look for what it writes.
    fn writes_for_all(&self) -> bool {
        let is_shared = |folder: &PathBuf| SHARED.iter().any(|shared| folder.starts_with(shared));
        self.writes.iter().any(is_shared)
    }

    fn write_scheduling(&self, text: &mut String) -> std::fmt::Result {
        if let Some(own) = self.own_cpu
            && !self.other_cpus.is_empty()
        {
            writeln!(
                text,
                "\n# The thread that trades pins itself to CPU {own}; all others stay here.\n\
                 CPUAffinity={}",
                ranges(&self.other_cpus)
            )?;
        }
        match self.scheduling {
            Scheduling::Nice => writeln!(text, "Nice=-10"),
            Scheduling::Fifo(priority) => writeln!(
                text,
                "CPUSchedulingPolicy=fifo\nCPUSchedulingPriority={priority}\n\
                 LimitRTPRIO={priority}"
            ),
        }
    }

    fn write_folders(&self, text: &mut String) -> std::fmt::Result {
        let own = format!("taut/{}-{}", self.kind, self.name);
        let mut state = vec![own];
        let mut others: Vec<&Path> = Vec::new();
        for folder in &self.writes {
            match folder.strip_prefix(STATE) {
                Ok(below) if below.components().next().is_some() => {
                    state.push(below.display().to_string());
                }
                // It is the unit's own anyway.
                _ if folder.starts_with(RUNTIME) => {}
                _ => others.push(folder),
            }
        }
        state.sort();
        state.dedup();
        others.sort();
        others.dedup();
        let state: Vec<String> = state.iter().map(|name| quoted(Path::new(name))).collect();
        writeln!(text, "\nStateDirectory={}\nStateDirectoryMode=0750", state.join(" "))?;
        writeln!(
            text,
            "RuntimeDirectory=taut\nRuntimeDirectoryMode=0750\nRuntimeDirectoryPreserve=yes"
        )?;
        if !self.has_control {
            writeln!(
                text,
                "# Its control socket is there: `XDG_RUNTIME_DIR={RUNTIME} taut {} ...`.\n\
                 Environment=XDG_RUNTIME_DIR={RUNTIME}",
                self.kind
            )?;
        }
        for folder in others {
            writeln!(
                text,
                "# Named in the file; it must be there and be {}'s.\nReadWritePaths={}",
                self.user,
                quoted(folder)
            )?;
        }
        Ok(())
    }
}

/// A path as a unit has it: `%` is doubled, `$` too, and one with blanks stands in quotes.
fn quoted(path: &Path) -> String {
    let text = path.display().to_string().replace('%', "%%").replace('$', "$$");
    let is_plain = |letter: char| !letter.is_whitespace() && !"\"'\\;".contains(letter);
    match text.chars().all(is_plain) {
        true => text,
        false => format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"")),
    }
}

/// CPUs in order as `0-3 6`.
fn ranges(cpus: &[usize]) -> String {
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for &cpu in cpus {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == cpu => *last = cpu,
            _ => runs.push((cpu, cpu)),
        }
    }
    let text = |(first, last): &(usize, usize)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    };
    runs.iter().map(text).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unit() -> Unit {
        Unit {
            kind: "gateway",
            name: "own".to_owned(),
            binary: "/usr/bin/taut".into(),
            verb: vec!["gateway".to_owned()],
            config: "/etc/taut/100% own.toml".into(),
            user: "taut".to_owned(),
            watchdog: 10,
            ..Unit::default()
        }
    }

    #[test]
    fn paths_are_quoted_as_systemd_reads_them() {
        let text = unit().text();
        let start = "ExecStart=/usr/bin/taut gateway --config \"/etc/taut/100%% own.toml\"\n";
        assert!(text.contains(start), "{text}");
    }

    #[test]
    fn folders_below_var_lib_are_systemds_and_others_must_be_there() {
        let writes = ["/var/lib/taut/a", "/srv/journal", "/run/taut", "/srv/journal"];
        let unit = Unit { writes: writes.map(PathBuf::from).to_vec(), ..unit() };
        let text = unit.text();
        assert!(text.contains("StateDirectory=taut/a taut/gateway-own\n"), "{text}");
        assert_eq!(text.matches("ReadWritePaths=/srv/journal\n").count(), 1, "{text}");
        assert_eq!(text.matches("ReadWritePaths=").count(), 1, "{text}");
        assert!(text.contains("Environment=XDG_RUNTIME_DIR=/run/taut\n"), "{text}");
        assert!(text.contains("PrivateTmp=yes\n"), "{text}");
        let writes = vec![PathBuf::from("/tmp/gateway")];
        let text = Unit { has_control: true, writes, ..unit }.text();
        assert!(!text.contains("XDG_RUNTIME_DIR"), "{text}");
        assert!(text.contains("PrivateTmp=no\n"), "others look there: {text}");
    }

    #[test]
    fn the_trading_threads_cpu_is_left_to_it() {
        let unit = Unit { own_cpu: Some(2), other_cpus: vec![0, 1, 3, 4, 5, 9], ..unit() };
        assert!(unit.text().contains("\nCPUAffinity=0-1 3-5 9\nNice=-10\n"), "{}", unit.text());
        let fifo = Unit { scheduling: Scheduling::Fifo(20), other_cpus: Vec::new(), ..unit };
        let text = fifo.text();
        assert!(!text.contains("CPUAffinity"), "one CPU is shared: {text}");
        assert!(text.contains("CPUSchedulingPriority=20\nLimitRTPRIO=20\n"), "{text}");
    }
}
