//! Prometheus and Alertmanager beside an instance of the planes. They are written down among its processes
//! and end with them.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::expected::Sample;
use super::rules::{self, FASTER, directory};
use crate::Error;
use crate::fedhub::{Fedhub, scrape};
use crate::progress::Progress;
use crate::tools::{self, Tool};
use crate::topology::planes::cells;
use crate::topology::wait::{NotYet, http_ok, until};
use crate::topology::{Layout, Planes, ports, ports_directory};

/// The process names; each is the name of its port as well.
const PROMETHEUS: &str = "prometheus";
const ALERTMANAGER: &str = "alertmanager";
/// How long each may take to serve.
const START: Duration = Duration::from_mins(1);

/// Both of them, running.
pub struct Monitoring {
    prometheus: u16,
    alertmanager: u16,
}

impl Monitoring {
    /// Starts both. Prometheus scrapes every fedhub of the instance each second; Alertmanager notifies
    /// `webhook` at once.
    pub async fn start(planes: &Planes, webhook: u16, progress: &Progress) -> Result<Self, Error> {
        let layout = planes.layout();
        let names = [PROMETHEUS, ALERTMANAGER].map(str::to_owned);
        let reserved = ports::reserve(&ports_directory(), layout, &names)?;
        let port = |name: &str| reserved.get(name).copied().unwrap_or_default();
        let monitoring = Self { prometheus: port(PROMETHEUS), alertmanager: port(ALERTMANAGER) };

        let tool = tools::ensure(Tool::Alertmanager, progress).await?;
        let directory = layout.scratch(ALERTMANAGER);
        let configuration = write(&directory, "alertmanager.yaml", &alertmanager(webhook)?)?;
        let arguments = vec![
            format!("--config.file={}", configuration.display()),
            format!("--storage.path={}", directory.join("data").display()),
            format!("--web.listen-address=127.0.0.1:{}", monitoring.alertmanager),
            // It is alone, and need not listen for others.
            "--cluster.listen-address=".to_owned(),
        ];
        tool.move_files(Tool::Alertmanager, &directory)?;
        planes.add_process(ALERTMANAGER, tool.program("prometheus-alertmanager"), arguments).await?;

        let tool = tools::ensure(Tool::Prometheus, progress).await?;
        let directory = layout.scratch(PROMETHEUS);
        write(&directory, "rules.yaml", &faster()?)?;
        let configuration = prometheus(layout, monitoring.alertmanager)?;
        let configuration = write(&directory, "prometheus.yaml", &configuration)?;
        let arguments = vec![
            format!("--config.file={}", configuration.display()),
            format!("--storage.tsdb.path={}", directory.join("data").display()),
            format!("--web.listen-address=127.0.0.1:{}", monitoring.prometheus),
        ];
        planes.add_process(PROMETHEUS, tool.program("prometheus"), arguments).await?;

        for (name, port) in [(ALERTMANAGER, monitoring.alertmanager), (PROMETHEUS, monitoring.prometheus)] {
            until(format!("{name} to be ready"), START, || async {
                planes.runs(name)?;
                http_ok(port, "/-/ready").await
            })
            .await?;
        }
        Ok(monitoring)
    }

    /// Waits until every fedhub was scraped.
    pub async fn scraped(&self) -> Result<(), Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Targets {
            active_targets: Vec<Target>,
        }
        #[derive(Debug, Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Target {
            scrape_url: String,
            health: String,
            last_error: String,
        }
        until("every fedhub to be scraped", START, || async {
            let targets: Targets = self.ask("/api/v1/targets?state=active").await?;
            let all = targets.active_targets;
            match all.iter().find(|target| target.health != "up") {
                None if all.len() > cells().count() => Ok(()),
                None => Err(NotYet::again(format!("{all:?}"))),
                Some(Target { scrape_url, health, last_error }) => {
                    Err(NotYet::Again(format!("{scrape_url} is {health}: {last_error}")))
                }
            }
        })
        .await
    }

    /// Waits until every rule was evaluated, each without an error.
    pub async fn evaluated(&self) -> Result<(), Error> {
        #[derive(Deserialize)]
        struct Groups {
            groups: Vec<Group>,
        }
        #[derive(Deserialize)]
        struct Group {
            rules: Vec<Rule>,
        }
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Rule {
            name: String,
            health: String,
            #[serde(default)]
            last_error: String,
        }
        until("every rule to be evaluated", START, || async {
            let groups: Groups = self.ask("/api/v1/rules").await?;
            let rules: Vec<_> = groups.groups.into_iter().flat_map(|group| group.rules).collect();
            match rules.iter().find(|rule| rule.health != "ok") {
                None if rules.is_empty() => Err(NotYet::again("there is none")),
                None => Ok(()),
                Some(Rule { name, health, last_error }) => {
                    Err(NotYet::Again(format!("{name} is {health}: {last_error}")))
                }
            }
        })
        .await
    }

    /// Returns the present result of a query. One that Prometheus does not understand never succeeds.
    pub async fn query(&self, expression: &str) -> Result<Vec<Sample>, NotYet> {
        #[derive(Deserialize)]
        struct Data {
            result: Vec<Series>,
        }
        #[derive(Deserialize)]
        struct Series {
            metric: std::collections::BTreeMap<String, String>,
            value: (f64, String),
        }
        let data: Data = self.ask(&format!("/api/v1/query?query={}", encoded(expression))).await?;
        data.result
            .into_iter()
            .map(|series| {
                let value = series.value.1.parse().map_err(NotYet::again)?;
                Ok(Sample { labels: series.metric, value })
            })
            .collect()
    }

    /// The alerts that fire, as Prometheus has them.
    pub async fn firing(&self) -> Result<Vec<String>, NotYet> {
        let samples = self.query("ALERTS{alertstate=\"firing\"}").await?;
        Ok(samples
            .into_iter()
            .map(|sample| sample.labels.get("alertname").cloned().unwrap_or_default())
            .collect())
    }

    /// The alerts that Alertmanager holds back because of another, each with its cell.
    pub async fn inhibited(&self) -> Result<Vec<String>, NotYet> {
        let answer = scrape::get(self.alertmanager, "/api/v2/alerts?inhibited=true&active=false").await;
        let alerts: Vec<Value> =
            serde_json::from_str(&answer.map_err(NotYet::again)?).map_err(NotYet::again)?;
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        Ok(alerts
            .iter()
            .filter(|alert| alert["status"]["state"] == "suppressed")
            .map(|alert| {
                format!("{} {}", text(&alert["labels"]["alertname"]), text(&alert["labels"]["cell"]))
            })
            .collect())
    }

    /// The data of an answer of Prometheus' API.
    async fn ask<T: DeserializeOwned>(&self, path: &str) -> Result<T, NotYet> {
        let answer = scrape::get(self.prometheus, path).await.map_err(NotYet::again)?;
        let mut answer: Value = serde_json::from_str(&answer).map_err(NotYet::again)?;
        if answer["errorType"] == "bad_data" {
            return Err(NotYet::Never(Error::Alerts(format!("{path}: {}", answer["error"]))));
        }
        serde_json::from_value(answer["data"].take()).map_err(NotYet::again)
    }
}

/// Prometheus' configuration. Targets are labelled as docs/runbooks/README.md has it.
fn prometheus(layout: &Layout, alertmanager: u16) -> Result<String, Error> {
    let address = |fedhub: &Fedhub| fedhub.url().trim_start_matches("http://").to_owned();
    let first = Fedhub::load(layout)?;
    let management = json!({ "targets": [address(&first)], "labels": { "namespace": "fedhub-system", "pod": "fedhub-1" } });
    let mut in_cells = Vec::new();
    for (cell, _) in cells() {
        let labels = json!({ "namespace": "fedhub-cells", "pod": "fedhub-cell-1", "cell": cell.name });
        let fedhub = Fedhub::cell(layout, cell.name)?;
        in_cells.push(json!({ "targets": [address(&fedhub)], "labels": labels }));
    }
    // JSON is YAML.
    Ok(json!({
        "global": { "scrape_interval": "1s", "evaluation_interval": "1s" },
        "rule_files": ["rules.yaml"],
        "alerting": { "alertmanagers": [{ "static_configs": [{ "targets": [format!("127.0.0.1:{alertmanager}")] }] }] },
        "scrape_configs": [
            { "job_name": "fedhub", "static_configs": [management] },
            { "job_name": "fedhub-cell", "static_configs": in_cells },
        ],
    })
    .to_string())
}

/// Alertmanager's configuration: what it inhibits is that of `deploy/`.
fn alertmanager(webhook: u16) -> Result<String, Error> {
    let path = directory().join("inhibit-rules.yaml");
    let text = fs::read_to_string(&path).map_err(Error::file("read", &path))?;
    let mut configuration: Value = serde_saphyr::from_str(&text)
        .map_err(|error| Error::Manifest { path: path.clone(), problem: error.to_string() })?;
    configuration["route"] = json!({
        "receiver": "webhook",
        "group_by": ["..."],
        "group_wait": "1s",
        "group_interval": "1s",
        "repeat_interval": "1h",
    });
    let url = format!("http://127.0.0.1:{webhook}/");
    configuration["receivers"] =
        json!([{ "name": "webhook", "webhook_configs": [{ "url": url, "send_resolved": true }] }]);
    Ok(configuration.to_string())
}

fn faster() -> Result<String, Error> {
    let path = directory().join("rules.yaml");
    let text = fs::read_to_string(&path).map_err(Error::file("read", &path))?;
    rules::faster(&text, FASTER).map_err(|problem| Error::Manifest { path, problem })
}

fn write(directory: &Path, name: &str, content: &str) -> Result<PathBuf, Error> {
    fs::create_dir_all(directory).map_err(Error::file("create", directory))?;
    let path = directory.join(name);
    fs::write(&path, content).map_err(Error::file("write", &path))?;
    Ok(path)
}

/// Percent-encoded, as the value in a query string.
fn encoded(text: &str) -> String {
    text.bytes()
        .map(
            |byte| {
                if byte.is_ascii_alphanumeric() {
                    char::from(byte).to_string()
                } else {
                    format!("%{byte:02X}")
                }
            },
        )
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_survives_its_way() {
        assert_eq!(encoded("a{b=\"c\"}+1"), "a%7Bb%3D%22c%22%7D%2B1");
    }

    #[test]
    fn the_configuration_of_alertmanager_has_the_inhibitions_of_deploy() {
        let configuration: Value = serde_json::from_str(&alertmanager(1).unwrap()).unwrap();
        let all = configuration["inhibit_rules"].as_array().unwrap();
        assert!(all.iter().any(|rule| rule["equal"] == json!(["cell"])), "{configuration}");
        assert_eq!(configuration["route"]["receiver"], configuration["receivers"][0]["name"]);
    }
}
