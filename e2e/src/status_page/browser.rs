//! Chromium without a window, driven by the `DevTools` protocol over a pair of pipes: no port is opened, and
//! no other process can drive it.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use crate::Error;
use crate::tools::Built;

/// How long the browser may take for one command.
const PATIENCE: Duration = Duration::from_mins(1);
/// Messages end with this byte.
const END: u8 = 0;

/// The browser, with one page.
pub struct Browser {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    last: u64,
    session: String,
    /// Events that came while an answer was awaited.
    events: Vec<Value>,
}

impl Browser {
    /// Starts it, with a profile in that directory.
    pub async fn start(chromium: &Built, directory: &Path) -> Result<Self, Error> {
        std::fs::create_dir_all(directory).map_err(Error::file("create", directory))?;
        let program = chromium.program("usr/lib/chromium/chromium");
        let log = directory.join("chromium.log");
        let log = std::fs::File::create(&log).map_err(Error::file("create", &log))?;
        // The protocol is spoken over the descriptors 3 and 4.
        let mut command = Command::new("sh");
        command.args(["-c", "exec \"$@\" 3<&0 4>&1 </dev/null >&2", "sh"]).arg(&program).args([
            "--headless",
            // Without root there may be no user namespaces for a sandbox, and with root there is none. What
            // is shown is ours.
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--disable-background-networking",
            "--no-first-run",
            "--hide-scrollbars",
            "--remote-debugging-pipe",
        ]);
        command.arg(format!("--user-data-dir={}", directory.join("profile").display()));
        command.env("LD_LIBRARY_PATH", std::env::join_paths(chromium.libraries()).unwrap_or_default());
        command.env("DBUS_SESSION_BUS_ADDRESS", "disabled:").env("HOME", directory);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(log).process_group(0).kill_on_drop(true);
        let mut child = command.spawn().map_err(Error::file("run", &program))?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(Error::Page("Chromium has no pipes".to_owned()));
        };
        let output = BufReader::new(output);
        let mut browser = Self { child, input, output, last: 0, session: String::new(), events: Vec::new() };
        let target = browser.call("Target.createTarget", json!({"url": "about:blank"})).await?;
        let attach = json!({"targetId": target["targetId"], "flatten": true});
        let attached = browser.call("Target.attachToTarget", attach).await?;
        browser.session = attached["sessionId"].as_str().unwrap_or_default().to_owned();
        for domain in ["Page", "Runtime", "Network", "Log", "Accessibility"] {
            browser.call(&format!("{domain}.enable"), json!({})).await?;
        }
        Ok(browser)
    }

    /// Sends a command and returns its result.
    pub async fn call(&mut self, method: &str, parameters: Value) -> Result<Value, Error> {
        self.last += 1;
        let id = self.last;
        let mut message = json!({"id": id, "method": method, "params": parameters});
        if !self.session.is_empty() {
            message["sessionId"] = json!(self.session);
        }
        let mut bytes = message.to_string().into_bytes();
        bytes.push(END);
        self.input.write_all(&bytes).await.map_err(Error::file("write to", "Chromium"))?;
        loop {
            let message = self.message(method).await?;
            if message["id"] != id {
                self.events.push(message);
                continue;
            }
            if message["error"].is_object() {
                return Err(Error::Page(format!("{method}: {}", message["error"]["message"])));
            }
            return Ok(message["result"].clone());
        }
    }

    /// Waits for an event that comes after those that were taken.
    pub async fn event(&mut self, method: &str) -> Result<(), Error> {
        while !self.events.iter().any(|event| event["method"] == method) {
            let message = self.message(method).await?;
            self.events.push(message);
        }
        Ok(())
    }

    /// The events since this was last asked for.
    pub fn take_events(&mut self) -> Vec<Value> {
        std::mem::take(&mut self.events)
    }

    async fn message(&mut self, awaited: &str) -> Result<Value, Error> {
        let mut bytes = Vec::new();
        let read = tokio::time::timeout(PATIENCE, self.output.read_until(END, &mut bytes)).await;
        match read {
            Ok(Ok(n)) if n > 0 => {}
            _ => return Err(Error::Page(format!("Chromium did not answer {awaited}"))),
        }
        bytes.pop();
        serde_json::from_slice(&bytes).map_err(|error| Error::Page(format!("Chromium: {error}")))
    }

    /// The value of an expression in the page; of a promise, what it resolves to.
    pub async fn evaluate(&mut self, expression: &str) -> Result<Value, Error> {
        let parameters = json!({"expression": expression, "returnByValue": true, "awaitPromise": true});
        let result = self.call("Runtime.evaluate", parameters).await?;
        if result["exceptionDetails"].is_object() {
            return Err(Error::Page(format!("{expression}: {}", result["exceptionDetails"])));
        }
        Ok(result["result"]["value"].clone())
    }

    /// Presses a key, such as `Tab`.
    pub async fn press(&mut self, key: &str) -> Result<(), Error> {
        let (code, text) = match key {
            "Tab" => (9, ""),
            "Enter" => (13, "\r"),
            other => return Err(Error::Page(format!("no key {other}"))),
        };
        for kind in ["keyDown", "keyUp"] {
            let text = if kind == "keyDown" { text } else { "" };
            let key =
                json!({"type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code, "text": text});
            self.call("Input.dispatchKeyEvent", key).await?;
        }
        Ok(())
    }
}

impl Drop for Browser {
    /// It has processes of its own, which end with it.
    fn drop(&mut self) {
        if let Some(leader) = self.child.id().and_then(|id| i32::try_from(id).ok()) {
            let _ = killpg(Pid::from_raw(leader), Signal::SIGKILL);
        }
    }
}
