//! A program that is told nothing and yet trades here: at the venue's own names, on its own ports,
//! over TLS, in a network that has nothing else.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType,
    ExtendedKeyUsagePurpose, IsCa, KeyPair, KeyUsagePurpose,
};
use taut_sys::{
    ProcessSignal, StopSignal, enter_own_namespaces, kill_with_parent, monotonic, mount_over,
    processes_of_own_network, signal_process,
};
use taut_types::Nanos;
use tempfile::TempDir;

use crate::error::RunnerError;

/// Names that no server is asked for.
const HOSTS: &str = "/etc/hosts";
/// Where systems keep the certificates that they trust.
const SYSTEM_ROOTS: &[&str] = &[
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];
/// Variables that name such a file, and who reads them.
const BUNDLE_VARIABLES: &[&str] = &[
    // OpenSSL, Python's ssl, rustls with native roots; requests; curl.
    "SSL_CERT_FILE",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
];
/// Node adds these to its own.
const EXTRA_VARIABLE: &str = "NODE_EXTRA_CA_CERTS";
/// What would lead around.
const PROXY_VARIABLES: &[&str] = &[
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "SSL_CERT_DIR",
];
/// How long the program has after a stop signal, and again after it was asked to stop.
const STOPPING: Nanos = Nanos::from_secs(5);

/// A program, and what it is to find in the place of the venue.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Captive {
    /// The program and its arguments.
    pub command: Vec<std::ffi::OsString>,
    /// Files of certificates that it brings along (certifi's `cacert.pem`): it finds there those
    /// that the system trusts, and the venue's.
    pub trust: Vec<PathBuf>,
}

impl Captive {
    /// This program with these arguments, which trusts what the system does.
    #[must_use]
    pub const fn new(command: Vec<std::ffi::OsString>) -> Self {
        Self { command, trust: Vec::new() }
    }

    /// Moves this process into namespaces of its own, in which these names are those of this host,
    /// and a certificate for them is trusted.
    pub(super) fn enter(&self, names: &[&str]) -> Result<Held<'_>, RunnerError> {
        let made = |error: &dyn std::fmt::Display| RunnerError::Run(format!("captive: {error}"));
        let folder = tempfile::Builder::new().prefix("taut-captive").tempdir();
        let folder = folder.map_err(|error| made(&error))?;
        let file = |name: &str, text: &str| {
            let path = folder.path().join(name);
            fs::write(&path, text).map(|()| path).map_err(|error| made(&error))
        };
        let issued = Issued::new(names).map_err(|error| made(&error))?;
        let (chain, key) = (file("chain.pem", &issued.chain)?, file("key.pem", &issued.key)?);
        let root = file("root.pem", &issued.root)?;
        let found = SYSTEM_ROOTS.iter().map(Path::new).filter(|path| path.is_file());
        let found: Vec<&Path> = found.collect();
        let trusted = found.first().and_then(|path| fs::read_to_string(path).ok());
        let bundle =
            file("bundle.pem", &format!("{}\n{}", trusted.unwrap_or_default(), issued.root))?;
        // Before the system's own, which name this machine.
        let own = fs::read_to_string(HOSTS).unwrap_or_default();
        let hosts = format!("127.0.0.1 localhost {}\n::1 localhost\n{own}", names.join(" "));
        let hosts = file("hosts", &hosts)?;
        if let Some(missing) = self.trust.iter().find(|path| !path.is_file()) {
            let text = format!("--trust {}: there is no such file", missing.display());
            return Err(RunnerError::Settings(text));
        }
        enter_own_namespaces().map_err(|error| {
            let remedy = "a namespace of its own is not to be had; run it as root, or allow user \
                          namespaces (user.max_user_namespaces, kernel.unprivileged_userns_clone, \
                          kernel.apparmor_restrict_unprivileged_userns)";
            RunnerError::Run(format!("captive: {error}: {remedy}"))
        })?;
        mount_over(&hosts, Path::new(HOSTS))
            .map_err(|error| made(&format_args!("{HOSTS}: {error}")))?;
        for path in found.into_iter().chain(self.trust.iter().map(PathBuf::as_path)) {
            // A name may stand for another file of these.
            mount_over(&bundle, path)
                .map_err(|error| made(&format_args!("{}: {error}", path.display())))?;
        }
        Ok(Held { captive: self, chain, key, root, bundle, _folder: folder })
    }
}

/// This process in its namespaces.
pub(super) struct Held<'a> {
    captive: &'a Captive,
    /// The venue's certificate for these names, and its key.
    pub(super) chain: PathBuf,
    pub(super) key: PathBuf,
    root: PathBuf,
    bundle: PathBuf,
    _folder: TempDir,
}

impl Held<'_> {
    /// Starts the program.
    pub(super) fn start(&self) -> Result<Running, RunnerError> {
        let Some((program, arguments)) = self.captive.command.split_first() else {
            return Err(RunnerError::Settings("--captive: a program to run".to_owned()));
        };
        let mut command = Command::new(program);
        command.args(arguments).env(EXTRA_VARIABLE, &self.root);
        command.envs(BUNDLE_VARIABLES.iter().map(|name| (name, &self.bundle)));
        for name in PROXY_VARIABLES {
            command.env_remove(name);
        }
        kill_with_parent(&mut command);
        let child = command.spawn().map_err(|error| {
            RunnerError::Settings(format!("--captive {}: {error}", program.to_string_lossy()))
        })?;
        Ok(Running { child, stopped: None })
    }
}

/// The program. What it has started and left behind ends with this: nobody else is in the network.
/// If taut is killed, the program itself is, too.
pub(super) struct Running {
    child: Child,
    /// When taut was asked to stop, and whether the program was.
    stopped: Option<(Nanos, bool)>,
}

impl Running {
    /// Whether the program has ended, and with which code: 128 and the signal's number where that
    /// ended it, as shells say it. Once taut has had a stop signal, the program is asked to stop,
    /// and killed when that takes too long. Ctrl-C it has heard itself, as whatever has the
    /// terminal: it is asked when it did not end by that.
    pub(super) fn ended(&mut self, stop: Option<StopSignal>) -> Result<Option<u8>, RunnerError> {
        let ended = self.child.try_wait().map_err(|error| RunnerError::run("captive", error))?;
        if ended.is_none()
            && let Some(signal) = stop
        {
            let now = monotonic();
            let (since, is_asked) = *self.stopped.get_or_insert((now, false));
            let is_late = now.since(since) >= STOPPING;
            if is_asked && is_late {
                let _ = self.child.kill();
            } else if !is_asked && (is_late || signal != StopSignal::Interrupt) {
                self.stopped = Some((now, true));
                let _ = signal_process(self.child.id(), ProcessSignal::Terminate);
            }
        }
        Ok(ended.map(code_of))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        for process in processes_of_own_network() {
            let _ = signal_process(process, ProcessSignal::Kill);
        }
    }
}

fn code_of(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| Some(128 + status.signal()?)).unwrap_or(1);
    u8::try_from(code).unwrap_or(1)
}

/// A root that is made for one run, and what it has signed: PEM.
pub(crate) struct Issued {
    pub(crate) root: String,
    /// A certificate for the names.
    pub(crate) chain: String,
    /// Its private key.
    pub(crate) key: String,
}

impl Issued {
    pub(crate) fn new(names: &[&str]) -> Result<Self, rcgen::Error> {
        let mut root = CertificateParams::new(Vec::new())?;
        root.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        root.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        root.distinguished_name = named("taut: the root of one run");
        let root = CertifiedIssuer::self_signed(root, KeyPair::generate()?)?;
        let key = KeyPair::generate()?;
        let mut leaf =
            CertificateParams::new(names.iter().map(ToString::to_string).collect::<Vec<_>>())?;
        leaf.use_authority_key_identifier_extension = true;
        leaf.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        leaf.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        leaf.distinguished_name = named(names.first().copied().unwrap_or("localhost"));
        let chain = leaf.signed_by(&key, &root)?;
        Ok(Self { root: root.pem(), chain: chain.pem(), key: key.serialize_pem() })
    }
}

fn named(name: &str) -> DistinguishedName {
    let mut named = DistinguishedName::new();
    named.push(DnType::CommonName, name);
    named
}
