//! What each query of a dashboard has to give while two cells work and a WD is rolled out in each.

use std::collections::BTreeMap;

use super::dashboards::Query;

/// A sample of an answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// Its value.
    pub value: f64,
}

/// Which series an answer has to have.
#[derive(Debug, Clone, Copy)]
enum Series {
    /// As many as there may be, none included: what counts faults has none as long as there was none.
    Any,
    /// At least one.
    Some,
    /// At least one for each of these values of this label.
    With(&'static str, &'static [&'static str]),
}

/// The expected answer to a query.
#[derive(Debug, Clone, Copy)]
pub struct Expectation {
    series: Series,
    /// Every value has to be within these; what is not a number (a rate of nothing) does not count.
    within: (f64, f64),
}

const HOPS: Series = Series::With(
    "hop",
    &["cell_to_hub", "hub_to_project_instance", "hub_to_project_status", "project_to_hub"],
);
const CITIES: Series = Series::With("city", &["DFW", "ORD"]);
const CELLS: Series = Series::With("cell", &["cell-dfw", "cell-ord"]);
const CONTROLLERS: Series =
    Series::With("controller", &["federator", "projector", "deployments", "write_back"]);
/// A quick machine takes milliseconds, a busy one seconds.
const QUICK: (f64, f64) = (0.0, 60.0);
const ANY: (f64, f64) = (0.0, f64::INFINITY);
const NONE: (f64, f64) = (0.0, 0.0);
const ONE: (f64, f64) = (1.0, 1.0);
const TWO: (f64, f64) = (2.0, 2.0);

/// Dashboard, panel, query, series, bounds of the values.
type Row = (&'static str, &'static str, &'static str, Series, (f64, f64));

#[rustfmt::skip]
const EXPECTED: [Row; 37] = [
    ("fleet", "Oldest change out of sync", "A", Series::Some, QUICK),
    ("fleet", "Leaders", "A", Series::With("job", &["fedhub", "fedhub-cell"]), (1.0, 2.0)),
    ("fleet", "Cells ready", "A", Series::Some, TWO),
    ("fleet", "Cells ready", "B", Series::Some, TWO),
    ("fleet", "Firing alerts", "A", Series::Some, NONE),
    ("fleet", "Age of the oldest change by controller", "A", CONTROLLERS, QUICK),
    ("fleet", "Project planes by state", "A", Series::With("state", &["engaged", "unreachable"]), (0.0, 2.0)),
    ("fleet", "Propagation, 99th percentile by hop", "A", HOPS, QUICK),
    ("fleet", "Reconciles by outcome", "A", Series::With("outcome", &["unchanged", "updated"]), ANY),
    ("fleet", "Awaiting an operator", "A", Series::Any, NONE),
    ("fleet", "Awaiting an operator", "B", Series::Any, NONE),
    ("fleet", "Awaiting an operator", "C", Series::Any, NONE),
    ("fleet", "Awaiting an operator", "D", Series::Some, NONE),
    ("fleet", "Awaiting an operator", "E", Series::Some, NONE),
    ("fleet", "Credentials: time left", "A", Series::With("credentials", &["hub"]), (60.0, f64::INFINITY)),
    ("planes", "Planes that lag most", "A", Series::Any, QUICK),
    ("planes", "Requests by answer", "A", Series::With("code", &["200"]), ANY),
    ("planes", "Time to an answer, 99th percentile", "A", Series::With("plane_kind", &["hub", "project"]), QUICK),
    ("planes", "Watches restarted", "A", Series::Any, ANY),
    ("planes", "Open circuit breakers", "A", Series::With("controller", &["federator", "projector"]), NONE),
    ("planes", "Keys waiting for a worker", "A", CONTROLLERS, ANY),
    ("planes", "Open connections", "A", Series::With("job", &["fedhub"]), (1.0, f64::INFINITY)),
    ("planes", "Objects out of sync", "A", Series::With("state", &["pending"]), ANY),
    ("cells", "Cells", "A", Series::With("cell", &["cell-dfw", "cell-ord"]), ONE),
    ("cells", "Cities in use by number of cells", "A", Series::With("state", &["none", "one", "many"]), (0.0, 2.0)),
    ("cells", "From a change to its status, 99th percentile by city", "A", CITIES, QUICK),
    ("cells", "From a cell to the hub, 99th percentile", "A", CELLS, QUICK),
    ("cells", "Cells that are not ready by themselves", "A", Series::Any, NONE),
    ("cells", "Instances quarantined", "A", Series::Any, NONE),
    ("cells", "Leader changes", "A", Series::Some, (0.0, 10.0)),
    ("cells", "Write-back", "A", CELLS, (0.0, 1.0)),
    ("karmada", "From a change to its status, median by city", "A", CITIES, QUICK),
    ("karmada", "Of it, Karmada and the cell, median by city", "A", CITIES, QUICK),
    ("karmada", "Karmada's share", "A", CITIES, (0.0, 1.0)),
    ("karmada", "Time of the hub to an answer, 99th percentile", "A", Series::Some, QUICK),
    ("karmada", "Hub WDs that Karmada was made to apply again", "A", Series::Some, NONE),
    ("karmada", "Writes that lost fields", "A", Series::With("job", &["fedhub"]), NONE),
];

/// Returns the expected answer to a query.
pub fn of(query: &Query) -> Result<Expectation, String> {
    EXPECTED
        .iter()
        .find(|(dashboard, panel, id, ..)| {
            query.dashboard == *dashboard && query.panel == *panel && query.id == *id
        })
        .map(|(_, _, _, series, within)| Expectation { series: *series, within: *within })
        .ok_or_else(|| format!("nothing is expected of {query}"))
}

/// Fails unless there is an expectation of each query, and a query for each expectation.
pub fn complete(queries: &[Query]) -> Result<(), String> {
    queries.iter().try_for_each(|query| of(query).map(drop))?;
    let is = |query: &Query, dashboard, panel, id| {
        query.dashboard == dashboard && query.panel == panel && query.id == id
    };
    match EXPECTED
        .iter()
        .find(|(dashboard, panel, id, ..)| !queries.iter().any(|query| is(query, *dashboard, *panel, *id)))
    {
        None => Ok(()),
        Some((dashboard, panel, id, ..)) => {
            Err(format!("dashboard {dashboard} has no panel `{panel}` with a query {id}"))
        }
    }
}

impl Expectation {
    /// Fails with what the answer lacks.
    pub fn met(&self, samples: &[Sample]) -> Result<(), String> {
        let numbers: Vec<_> = samples.iter().filter(|sample| !sample.value.is_nan()).collect();
        let (low, high) = self.within;
        if let Some(other) = numbers.iter().find(|sample| !(low..=high).contains(&sample.value)) {
            return Err(format!("{other:?} is not within {low} and {high}"));
        }
        match self.series {
            Series::Some if numbers.is_empty() => Err("no series".to_owned()),
            Series::Any | Series::Some => Ok(()),
            Series::With(label, values) => {
                let has = |value: &&&str| {
                    numbers.iter().any(|sample| sample.labels.get(label).is_some_and(|it| it == **value))
                };
                match values.iter().find(|value| !has(value)) {
                    None => Ok(()),
                    Some(missing) => Err(format!("no series with {label}={missing}: {samples:?}")),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::dashboards;
    use super::*;

    fn sample(label: &str, value: f64) -> Sample {
        Sample { labels: BTreeMap::from([("city".to_owned(), label.to_owned())]), value }
    }

    #[test]
    fn something_is_expected_of_every_query() {
        complete(&dashboards::all().unwrap()).unwrap();
    }

    #[test]
    fn an_answer_needs_every_series_and_only_values_within_the_bounds() {
        let cities = Expectation { series: CITIES, within: (0.0, 1.0) };
        let both = [sample("DFW", 0.5), sample("ORD", 1.0)];
        assert!(cities.met(&both).is_ok());
        assert!(cities.met(&both[..1]).unwrap_err().contains("ORD"));
        assert!(cities.met(&[sample("DFW", 0.5), sample("ORD", f64::NAN)]).unwrap_err().contains("ORD"));
        assert!(cities.met(&[sample("DFW", 2.0), sample("ORD", 1.0)]).unwrap_err().contains("2.0"));
        assert!(Expectation { series: Series::Some, within: ANY }.met(&[]).is_err());
        assert!(Expectation { series: Series::Any, within: NONE }.met(&[]).is_ok());
    }
}
