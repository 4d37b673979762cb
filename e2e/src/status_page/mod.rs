//! The status page in a real browser.
//!
//! [`run`] opens the pages of the fedhub beside real planes; [`look_at`] those that the unit tests of
//! `fedhub` wrote to a directory. Each is looked at in two widths and two colour schemes: nothing may be
//! wider than the window, no text may have less contrast than AA asks for, no table may lack headers, nothing
//! may be requested from elsewhere or be logged as an error. Then the pages are used with the keyboard alone,
//! and one is watched as a plane goes away and comes back. A picture of each is taken, for a look.

mod browser;
mod look;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;

use self::browser::Browser;
use self::look::{Focus, VIEWS, View, audit, complaints, focused, open, photograph, tab};
use crate::chaos::fixture::{Fixture, NAME, NAMESPACE};
use crate::fedhub::chain;
use crate::progress::Progress;
use crate::tools::{self, Tool};
use crate::topology::wait::{NotYet, until};
use crate::topology::{Planes, api_server_process};
use crate::{Error, servers as beside};

/// How long a page may take to show what has happened.
const LIMIT: Duration = Duration::from_mins(2);
/// More keys than a page has targets.
const KEYS: usize = 200;
/// The project whose plane goes away.
const GONE: &str = "project-b";

/// Looks at every page that is written in a directory. Returns where the pictures are.
pub async fn look_at(pages: &Path, pictures: Option<&Path>, progress: &Progress) -> Result<PathBuf, Error> {
    let mut files: Vec<_> = fs::read_dir(pages)
        .map_err(Error::file("list", pages))?
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|it| it == "html"))
        .collect();
    files.sort();
    if files.is_empty() {
        return Err(Error::Page(format!("{} has no pages", pages.display())));
    }
    let mut test = Test::start(pages, pictures, "file:", progress).await?;
    for file in &files {
        let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        test.views(&name, &format!("file://{}", file.display())).await?;
    }
    test.verdict()
}

/// Brings everything up and looks at every page. Everything is left running; [`beside::down`] ends it.
/// Returns where the pictures are.
pub async fn run(options: &beside::Options, pictures: Option<&Path>) -> Result<PathBuf, Error> {
    let progress = &options.progress;
    // Before anything runs that would have to wait for it.
    tools::ensure(Tool::Chromium, progress).await?;
    let (planes, fedhub) = beside::up(options).await?;
    chain::start(planes.layout()).await?;
    let fixture = Fixture::from_planes(&planes).await?;
    fixture.make(1, "made").await?;
    fedhub.settled().await?;

    let origin = fedhub.url();
    let mut test = Test::start(&planes.layout().scratch("status-page"), pictures, &origin, progress).await?;
    let status = format!("{origin}/status");
    let object = format!("{status}/object?kind=wd&plane=project-a&namespace={NAMESPACE}&name={NAME}");
    for (name, address) in [
        ("fleet", status.clone()),
        ("planes", format!("{status}/planes")),
        ("plane", format!("{status}/plane?name=project-a")),
        ("object", object.clone()),
        ("explain", format!("{status}/object")),
        ("not-found", format!("{status}/none")),
    ] {
        test.views(name, &address).await?;
    }
    test.shows(&format!("{status}/plane?name=project-a"), &["engaged", "workloaddeployments", NAME]).await?;
    test.shows(&object, &["in sync", "project-wd", "projections", "1/1 Ready"]).await?;
    test.keyboard(&status).await?;
    test.plane_goes_away(&planes, &status).await?;
    test.verdict()
}

struct Test<'a> {
    browser: Browser,
    pictures: PathBuf,
    origin: String,
    progress: &'a Progress,
    faults: Vec<String>,
}

impl<'a> Test<'a> {
    /// The pictures go to the directory that is given for them, or below the other one.
    async fn start(
        directory: &Path,
        pictures: Option<&Path>,
        origin: &str,
        progress: &'a Progress,
    ) -> Result<Self, Error> {
        let chromium = tools::ensure(Tool::Chromium, progress).await?;
        let pictures = pictures.map_or_else(|| directory.join("pictures"), Path::to_owned);
        fs::create_dir_all(&pictures).map_err(Error::file("create", &pictures))?;
        let browser = Browser::start(&chromium, &directory.join("chromium")).await?;
        Ok(Self { browser, pictures, origin: origin.to_owned(), progress, faults: Vec::new() })
    }

    /// Looks at a page in every view.
    async fn views(&mut self, name: &str, url: &str) -> Result<(), Error> {
        for view in VIEWS {
            let View { width, scheme } = view;
            open(&mut self.browser, view, url).await?;
            let mut found = audit(&mut self.browser).await?;
            let picture = self.pictures.join(format!("{name}-{width}-{scheme}.png"));
            photograph(&mut self.browser, &picture).await?;
            found.extend(complaints(&mut self.browser, &self.origin));
            self.faults
                .extend(found.into_iter().map(|fault| format!("{name}, {width} px, {scheme}: {fault}")));
        }
        self.progress.step(format!("looked at {name}"));
        Ok(())
    }

    /// Waits until a page shows these texts.
    async fn shows(&mut self, url: &str, texts: &[&str]) -> Result<(), Error> {
        open(&mut self.browser, VIEWS[0], url).await?;
        let shown = self.text().await?;
        for text in texts {
            if !shown.contains(text) {
                return Err(Error::Page(format!("{url} does not show {text:?}:\n{shown}")));
            }
        }
        Ok(())
    }

    async fn text(&mut self) -> Result<String, Error> {
        Ok(self.browser.evaluate("document.body.innerText").await?.as_str().unwrap_or_default().to_owned())
    }

    /// Goes from the fleet to a plane without a mouse: by the skip link, with every target shown that has the
    /// focus.
    async fn keyboard(&mut self, status: &str) -> Result<(), Error> {
        open(&mut self.browser, VIEWS[0], status).await?;
        let first = tab(&mut self.browser).await?;
        expect(&first, "a Skip to content")?;
        self.browser.press("Enter").await?;
        let main = focused(&mut self.browser).await?;
        if !main.name.starts_with("main") {
            return Err(Error::Page(format!("the skip link leads to {main:?}")));
        }
        open(&mut self.browser, VIEWS[0], status).await?;
        let mut seen = Vec::new();
        loop {
            let focus = tab(&mut self.browser).await?;
            if focus.name.is_empty() {
                break;
            }
            if !focus.seen {
                return Err(Error::Page(format!("the focus cannot be seen on {focus:?}")));
            }
            seen.push(focus.name);
            if seen.len() > KEYS {
                return Err(Error::Page(format!("the focus is caught: {:?}", &seen[..20])));
            }
        }
        for wanted in ["a Fleet", "a Planes", "a Explain", "button Pause refresh"] {
            if !seen.iter().any(|it| it == wanted) {
                return Err(Error::Page(format!("the keyboard does not reach {wanted:?}: {seen:?}")));
            }
        }
        self.follow(status, "a Planes", "/status/planes").await?;
        self.follow(&format!("{status}/planes"), "a project-a", "/status/plane?name=project-a").await?;
        self.pause(status).await?;
        self.progress.step(format!("{} targets are reached and seen with the keyboard alone", seen.len()));
        Ok(())
    }

    /// Follows a link by the keyboard.
    async fn follow(&mut self, from: &str, link: &str, to: &str) -> Result<(), Error> {
        self.reach(from, link).await?;
        self.browser.take_events();
        self.browser.press("Enter").await?;
        self.browser.event("Page.loadEventFired").await?;
        let at = self.browser.evaluate("location.pathname + location.search").await?;
        if at.as_str() == Some(to) { Ok(()) } else { Err(Error::Page(format!("{link} leads to {at}"))) }
    }

    /// Opens a page and moves the focus to a target.
    async fn reach(&mut self, page: &str, target: &str) -> Result<(), Error> {
        open(&mut self.browser, VIEWS[0], page).await?;
        for _ in 0..KEYS {
            if tab(&mut self.browser).await?.name == target {
                return Ok(());
            }
        }
        Err(Error::Page(format!("the keyboard does not reach {target} of {page}")))
    }

    /// Pauses the renewal, and lets it go on.
    async fn pause(&mut self, status: &str) -> Result<(), Error> {
        self.reach(status, "button Pause refresh").await?;
        for pressed in ["true", "false"] {
            self.browser.press("Enter").await?;
            let is = self.browser.evaluate("document.getElementById('pause').ariaPressed").await?;
            if is.as_str() != Some(pressed) {
                return Err(Error::Page(format!("Pause is {is}, not {pressed}")));
            }
        }
        Ok(())
    }

    /// A plane's API server ends and starts again, and an open page shows both by itself; the focus stays
    /// where it is.
    async fn plane_goes_away(&mut self, planes: &Planes, status: &str) -> Result<(), Error> {
        let link = format!("a {GONE}");
        self.reach(&format!("{status}/planes"), &link).await?;
        let process = api_server_process(GONE);
        planes.stop_process(&process).await?;
        let gone = self.until_row("unreachable", &link).await;
        self.views("planes-unreachable", &format!("{status}/planes")).await?;
        self.views("fleet-unreachable", status).await?;
        self.views("plane-unreachable", &format!("{status}/plane?name={GONE}")).await?;
        self.reach(&format!("{status}/planes"), &link).await?;
        planes.start_process(&process).await?;
        gone?;
        self.until_row("engaged", &link).await?;
        self.progress.step("an open page shows that a plane went away and came back");
        Ok(())
    }

    /// Waits until the plane's row of the page that is open has that state, without opening it again.
    async fn until_row(&mut self, state: &str, focus: &str) -> Result<(), Error> {
        let row = format!(
            "[...document.querySelectorAll('tbody tr')].find((it) => it.innerText.includes('{GONE}'))?.innerText"
        );
        let browser = tokio::sync::Mutex::new(&mut self.browser);
        until(format!("{GONE} to be shown as {state}"), LIMIT, || async {
            let mut browser = browser.lock().await;
            let shown: Value = browser.evaluate(&row).await.map_err(NotYet::Never)?;
            let shown = shown.as_str().unwrap_or_default();
            if shown.contains(state) { Ok(()) } else { Err(NotYet::again(shown)) }
        })
        .await?;
        expect(&focused(&mut self.browser).await?, focus)
    }

    fn verdict(self) -> Result<PathBuf, Error> {
        if self.faults.is_empty() {
            Ok(self.pictures)
        } else {
            let pictures = self.pictures.display();
            Err(Error::Page(format!("{}\nthe pictures are in {pictures}", self.faults.join("\n"))))
        }
    }
}

fn expect(focus: &Focus, name: &str) -> Result<(), Error> {
    if focus.name == name && focus.seen {
        Ok(())
    } else {
        Err(Error::Page(format!("the focus is on {focus:?}, not on {name:?}")))
    }
}
