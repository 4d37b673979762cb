//! One page in the browser: opened, photographed, and judged by what everybody needs of it.

use std::path::Path;

use serde_json::{Value, json};

use super::browser::Browser;
use crate::Error;

/// How a page is shown.
#[derive(Clone, Copy, Debug)]
pub struct View {
    /// The width in pixels of CSS.
    pub width: u32,
    /// `light` or `dark`.
    pub scheme: &'static str,
}

/// The views that each page has to stand.
pub const VIEWS: [View; 4] = [
    View { width: 1280, scheme: "light" },
    View { width: 1280, scheme: "dark" },
    View { width: 400, scheme: "light" },
    View { width: 400, scheme: "dark" },
];

/// Faults of the page that is shown, as lines: text whose contrast is below AA, what is wider than the
/// window, tables without headers, landmarks and headings that are missing, targets without a name.
const AUDIT: &str = include_str!("audit.js");
/// Where the focus is, and whether that can be seen.
const FOCUS: &str = include_str!("focus.js");

/// An element that has the focus.
#[derive(Clone, Debug)]
pub struct Focus {
    /// What it is, in a few words.
    pub name: String,
    /// Whether an outline shows it.
    pub seen: bool,
}

/// Opens an address, and waits until it is loaded.
pub async fn open(browser: &mut Browser, view: View, url: &str) -> Result<(), Error> {
    let metrics = json!({"width": view.width, "height": 900, "deviceScaleFactor": 1, "mobile": false});
    browser.call("Emulation.setDeviceMetricsOverride", metrics).await?;
    let scheme = json!({"features": [{"name": "prefers-color-scheme", "value": view.scheme}]});
    browser.call("Emulation.setEmulatedMedia", scheme).await?;
    browser.take_events();
    let navigated = browser.call("Page.navigate", json!({"url": url})).await?;
    if let Some(error) = navigated["errorText"].as_str() {
        return Err(Error::Page(format!("{url}: {error}")));
    }
    browser.event("Page.loadEventFired").await
}

/// What was wrong since the page was opened: errors of the console or of the network, requests to another
/// origin.
pub fn complaints(browser: &mut Browser, origin: &str) -> Vec<String> {
    let mut found = Vec::new();
    for event in browser.take_events() {
        let parameters = &event["params"];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        match event["method"].as_str().unwrap_or_default() {
            "Log.entryAdded" => {
                // A page that is an error is one for the log of the browser too.
                let entry = &parameters["entry"];
                if entry["source"] != "network" {
                    found.push(format!("logged: {}", text(&entry["text"])));
                }
            }
            "Runtime.consoleAPICalled" => found.push(format!("console: {}", parameters["args"])),
            "Runtime.exceptionThrown" => found.push(format!("thrown: {}", parameters["exceptionDetails"])),
            "Network.requestWillBeSent" => {
                let url = text(&parameters["request"]["url"]);
                if !url.starts_with(origin) && !url.starts_with("data:") {
                    found.push(format!("a request to {url}"));
                }
            }
            _ => {}
        }
    }
    found
}

/// The faults of the page that is shown.
pub async fn audit(browser: &mut Browser) -> Result<Vec<String>, Error> {
    let found = browser.evaluate(AUDIT).await?;
    let lines = found.as_array().into_iter().flatten().filter_map(Value::as_str);
    let mut faults: Vec<String> = lines.map(str::to_owned).collect();
    faults.extend(unnamed(&browser.call("Accessibility.getFullAXTree", json!({})).await?));
    Ok(faults)
}

/// What readers of screens get without a name, and landmarks that they lack.
fn unnamed(tree: &Value) -> Vec<String> {
    let nodes = || tree["nodes"].as_array().into_iter().flatten().filter(|node| node["ignored"] == false);
    let role = |node: &Value| node["role"]["value"].as_str().unwrap_or_default().to_owned();
    let mut faults = Vec::new();
    for wanted in ["banner", "navigation", "main", "contentinfo"] {
        if !nodes().any(|node| role(node) == wanted) {
            faults.push(format!("no landmark {wanted}"));
        }
    }
    for node in nodes() {
        let role = role(node);
        let named = [
            "link",
            "button",
            "textbox",
            "searchbox",
            "combobox",
            "table",
            "img",
            "image",
            "region",
            "search",
        ];
        let name = node["name"]["value"].as_str().unwrap_or_default();
        if named.contains(&role.as_str()) && name.trim().is_empty() {
            faults.push(format!("a {role} without a name"));
        }
    }
    faults
}

/// Moves the focus by a key, and returns where it is.
pub async fn tab(browser: &mut Browser) -> Result<Focus, Error> {
    browser.press("Tab").await?;
    focused(browser).await
}

/// Where the focus is.
pub async fn focused(browser: &mut Browser) -> Result<Focus, Error> {
    let focus = browser.evaluate(FOCUS).await?;
    let name = focus["name"].as_str().unwrap_or_default().to_owned();
    Ok(Focus { name, seen: focus["seen"] == true })
}

/// Writes a picture of the whole page.
pub async fn photograph(browser: &mut Browser, path: &Path) -> Result<(), Error> {
    let parameters = json!({"format": "png", "captureBeyondViewport": true});
    let taken = browser.call("Page.captureScreenshot", parameters).await?;
    let bytes = decoded(taken["data"].as_str().unwrap_or_default());
    std::fs::write(path, bytes).map_err(Error::file("write", path))
}

/// Base64.
fn decoded(text: &str) -> Vec<u8> {
    use base64::Engine;
    base64::prelude::BASE64_STANDARD.decode(text).unwrap_or_default()
}
