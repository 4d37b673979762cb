//! The overview of a project.

use fedhub_api::facts::workload::is_paused;
use fedhub_core::message::Quoted;
use fedhub_core::object::ObjectView;
use fedhub_terminal::plain;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::model::status::is_suspended;
use crate::model::{Paused, Site, Workload};
use crate::problem::Problem;
use crate::reading::missing;
use crate::rollout::judge::judge;
use crate::view::Look;
use crate::view::condition::{Finding, Standing, of_rollout};
use crate::view::object::age_of;
use crate::view::sheet::{Cell, Column, Cut, sheet};
use crate::view::site;
use crate::view::text::wrapped;
use crate::workloads::view::{colour, progress};

/// The overview of a project.
#[derive(Clone, Copy, Debug)]
pub struct Overview<'a> {
    /// The project's name.
    pub project: Option<&'a str>,
    /// Its Workloads.
    pub workloads: &'a [Workload<'a>],
    /// Why their cities are not known.
    pub unknown: Option<&'a Problem>,
}

/// A city in which something is the matter.
pub struct Trouble<'a> {
    workload: &'a str,
    site: &'a Site<'a>,
    finding: Finding,
}

impl<'a> Overview<'a> {
    /// The cities that require an action, or whose state is not known any more.
    pub fn troubled(&self) -> impl Iterator<Item = Trouble<'a>> {
        let all = self.workloads.iter().flat_map(|it| {
            // Rows are those of the sites, in their order.
            let rows = judge(it).rows;
            it.sites.iter().zip(rows).map(move |(site, row)| (it, site, row))
        });
        all.filter_map(|(workload, site, row)| {
            // A city without a deployment says nothing itself: the Workload says why it has none.
            let refused = row.obstacle.as_ref().filter(|_| site.deployment.is_none());
            let finding = refused.map(Finding::of_obstacle).or_else(|| site::finding(site)).filter(|it| {
                match it.standing() {
                    Standing::Ready | Standing::OnItsWay => false,
                    Standing::Unknown => it.since.is_some(),
                    Standing::Blocked => true,
                }
            })?;
            Some(Trouble { workload: workload.object.name(), site, finding })
        })
    }
}

const COLUMNS: [Column; 6] = [
    Column::whole("WORKLOAD"),
    Column::whole("HEALTH"),
    Column::whole("READY"),
    Column::whole("UP-TO-DATE"),
    Column::cut("CITIES", Cut::End).optional(1),
    Column::whole("AGE").optional(2),
];

/// The overview for people.
pub fn text(overview: &Overview<'_>, look: &Look, now: Timestamp) -> String {
    let cells = |it: &Workload<'_>| {
        let health = it.health();
        let (ready, updated) = progress(it);
        vec![
            it.object.name().into(),
            Cell::new(health.to_string(), Some(colour(health))),
            ready.into(),
            updated.into(),
            it.cities().join(",").into(),
            age_of(it.object, now).into(),
        ]
    };
    let table = sheet(&COLUMNS, overview.workloads.iter().map(cells).collect(), look);
    let trouble = |it: Trouble<'_>| {
        let colour = it.finding.standing().colour();
        let place = format!("{} in {}", it.workload, it.site.city);
        let place = colour.paint(&plain(&place), look.terminal.colours);
        format!("{place}\n{}", it.finding.lines(2, look.terminal.width))
    };
    let troubles = overview.troubled().map(trouble);
    let pauses = overview.workloads.iter().filter_map(|it| {
        let sentence = Paused::from_workload(it.object)?.sentence(it.object.name());
        Some(wrapped(&sentence, 0, look.terminal.width))
    });
    let suspensions = overview.workloads.iter().filter(|it| is_suspended(it.object)).map(|it| {
        let sentence = format!(
            "The workload {} is suspended: its instances are kept, and do not run.",
            Quoted(it.object.name())
        );
        wrapped(&sentence, 0, look.terminal.width)
    });
    let late = overview.workloads.iter().filter_map(|it| {
        let finding = of_rollout(it.object.status())?;
        let head = finding.standing().colour().paint(&plain(it.object.name()), look.terminal.colours);
        Some(format!("{head}\n{}", finding.lines(2, look.terminal.width)))
    });
    let troubles = late.chain(troubles);
    std::iter::once(table).chain(suspensions).chain(pauses).chain(troubles).collect::<Vec<_>>().join("\n\n")
}

/// Returns the overview for `--output json` and `yaml`.
pub fn value(overview: &Overview<'_>) -> Value {
    let workload = |it: &Workload<'_>| {
        let counts = it.counts();
        json!({
            "name": it.object.name(),
            "health": it.health().to_string(),
            "desired": counts.map(|it| it.desired),
            "ready": counts.map(|it| it.ready),
            "upToDate": counts.filter(|_| crate::model::status::is_observed(it.object)).map(|it| it.updated),
            "paused": is_paused(it.object),
            "suspended": is_suspended(it.object),
            "progressDeadlineExceeded": of_rollout(it.object.status()).is_some(),
            "locations": it.cities(),
            "cities": overview.unknown.is_none().then(|| it.sites.iter().map(site::json).collect::<Value>()),
        })
    };
    json!({
        "project": overview.project,
        "workloads": overview.workloads.iter().map(workload).collect::<Vec<_>>(),
        "unknown": overview.unknown.into_iter().map(missing).collect::<Vec<_>>(),
    })
}
