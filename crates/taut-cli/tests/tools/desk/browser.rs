//! A real Chromium, driven over its DevTools protocol.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use taut_testkit::{DEADLINE, Process, until};
use tempfile::TempDir;

use super::get;
use super::socket::Socket;

/// The browser, with one page.
pub struct Browser {
    socket: Socket,
    next: u64,
    /// What its console said: errors, warnings, exceptions.
    pub complaints: Vec<String>,
    /// What the page asked for.
    pub requested: Vec<String>,
    _process: Process,
    _profile: TempDir,
}

/// How wide, how high, and whether it is dark.
#[derive(Clone, Copy)]
pub struct Screen(pub u32, pub u32, pub bool);

impl Browser {
    /// Starts it, where it is installed.
    pub fn start() -> Option<Self> {
        let names = ["chromium", "chromium-browser", "google-chrome"];
        let folders = std::env::var_os("PATH")?;
        let mut places =
            std::env::split_paths(&folders).flat_map(|it| names.map(|name| it.join(name)));
        let Some(program) = places.find(|it| it.is_file()) else {
            println!("skipped: no Chromium on the PATH");
            return None;
        };
        let profile = tempfile::tempdir().expect("a folder");
        let mut command = Command::new(program);
        command.args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--disable-dev-shm-usage",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--disable-breakpad",
            "--disable-crash-reporter",
            "--remote-debugging-port=0",
        ]);
        command.arg(format!("--user-data-dir={}", profile.path().display())).arg("about:blank");
        let mut process = Process::start_group(&mut command);
        let address = process.stderr_line("where it listens", |line| {
            let (_, rest) = line.split_once("DevTools listening on ws://")?;
            Some(rest.split('/').next()?.to_owned())
        });
        let mut url = None;
        until("a page", DEADLINE, || {
            let told = get(&address, "/json/list", &[]);
            let pages: Value = serde_json::from_str(&told.body).unwrap_or_default();
            let mut pages = pages.as_array().into_iter().flatten();
            let page = pages.find(|it| it["type"] == "page");
            url = page.and_then(|it| Some(it["webSocketDebuggerUrl"].as_str()?.to_owned()));
            url.is_some()
        });
        let socket = Socket::connect(&url.expect("a page"), &[]).expect("its DevTools");
        let (complaints, requested) = (Vec::new(), Vec::new());
        let mut browser =
            Self { socket, next: 1, complaints, requested, _process: process, _profile: profile };
        for domain in ["Page", "Runtime", "Log", "Network"] {
            browser.call(&format!("{domain}.enable"), &json!({}));
        }
        Some(browser)
    }

    /// Calls a method, and returns its result.
    pub fn call(&mut self, method: &str, parameters: &Value) -> Value {
        let id = self.next;
        self.next += 1;
        self.socket.send(&json!({ "id": id, "method": method, "params": parameters }));
        loop {
            let said = self.socket.receive().expect("the browser goes on");
            if said["id"] == id {
                assert!(said["error"].is_null(), "{method}: {}", said["error"]);
                return said["result"].clone();
            }
            self.hear(&said);
        }
    }

    fn hear(&mut self, said: &Value) {
        let told = &said["params"];
        match said["method"].as_str().unwrap_or_default() {
            "Runtime.exceptionThrown" => self.complaints.push(told.to_string()),
            "Runtime.consoleAPICalled" if told["type"] == "error" || told["type"] == "warning" => {
                self.complaints.push(told["args"].to_string());
            }
            "Log.entryAdded" if told["entry"]["level"] != "verbose" => {
                self.complaints.push(told["entry"].to_string());
            }
            "Network.requestWillBeSent" => {
                let url = told["request"]["url"].as_str().unwrap_or_default();
                self.requested.push(url.to_owned());
            }
            _ => {}
        }
    }

    /// The value of an expression in the page, awaited.
    pub fn value(&mut self, expression: &str) -> Value {
        let asked = json!({
            "expression": expression, "returnByValue": true, "awaitPromise": true,
        });
        let result = self.call("Runtime.evaluate", &asked);
        assert!(result["exceptionDetails"].is_null(), "{expression}: {result}");
        result["result"]["value"].clone()
    }

    /// Waits until an expression is true in the page.
    pub fn wait(&mut self, what: &str, expression: &str) {
        let expression = format!("Boolean({expression})");
        until(what, DEADLINE, || self.value(&expression) == true);
    }

    /// Goes somewhere.
    pub fn open(&mut self, url: &str) {
        self.call("Page.navigate", &json!({ "url": url }));
    }

    /// Presses a key: a letter or a digit, or one of the keyboard's names.
    pub fn press(&mut self, key: &str) {
        let is_text = key.chars().count() == 1;
        let down = if is_text {
            json!({ "type": "keyDown", "key": key, "text": key })
        } else {
            json!({ "type": "rawKeyDown", "key": key, "windowsVirtualKeyCode": code(key) })
        };
        self.call("Input.dispatchKeyEvent", &down);
        self.call("Input.dispatchKeyEvent", &json!({ "type": "keyUp", "key": key }));
    }

    /// Has the page on a screen like this.
    pub fn show_on(&mut self, Screen(width, height, is_dark): Screen) {
        let size = json!({
            "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false,
        });
        self.call("Emulation.setDeviceMetricsOverride", &size);
        let value = if is_dark { "dark" } else { "light" };
        let features = json!([{ "name": "prefers-color-scheme", "value": value }]);
        self.call("Emulation.setEmulatedMedia", &json!({ "features": features }));
    }

    /// Takes a picture into the folder of the tests' files; where it is.
    pub fn picture(&mut self, name: &str) -> PathBuf {
        let taken = self.call("Page.captureScreenshot", &json!({ "format": "png" }));
        let bytes = base64(taken["data"].as_str().expect("a picture"));
        assert!(bytes.starts_with(b"\x89PNG"), "{name} is a picture");
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("desk-{name}.png"));
        std::fs::write(&path, bytes).expect("a file");
        path
    }
}

fn code(key: &str) -> u32 {
    match key {
        "Tab" => 9,
        "Escape" => 27,
        _ => 0,
    }
}

/// The bytes of base 64.
fn base64(text: &str) -> Vec<u8> {
    const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let (mut bytes, mut bits, mut count) = (Vec::with_capacity(text.len()), 0_u32, 0);
    for letter in text.bytes() {
        let Some(value) = LETTERS.iter().position(|it| *it == letter) else { break };
        bits = bits << 6 | u32::try_from(value).expect("6 bits");
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
            bits &= (1 << count) - 1;
        }
    }
    bytes
}
