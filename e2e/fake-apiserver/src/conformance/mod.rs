//! What a kube-apiserver answers, as one ordered script of requests: run against a real one and against a
//! server of this crate, each has to give the same answers.
//!
//! The script works in namespaces of its own and on a resource of its own, `widgets.fake.example.com`, which
//! a real server learns from [`crd`] and a server of this crate from [`widget`].

mod many;
mod objects;
mod script;
mod single;
mod step;

use std::collections::BTreeMap;
use std::time::Duration;

use http::Request;
use http_body_util::BodyExt;
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};
use step::{Answer, Await, Step, fill};
use tokio::time::timeout;

use crate::resource::Resource;

/// How long what a server does in the background, and an event of a watch, may take.
const PATIENCE: Duration = Duration::from_secs(30);
/// How often a server is asked whether it has done what it does in the background.
const AGAIN: Duration = Duration::from_millis(50);

/// A step of the script, and how it went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The name of the step.
    pub step: &'static str,
    /// The difference from the expected answer; `None` if there is none.
    pub fault: Option<String>,
}

/// The resource of the script, as a server of this crate serves it: its schema defaults `spec.color` and
/// prunes what it does not name.
pub fn widget() -> Resource {
    Resource::custom("fake.example.com", "v1", "Widget", "widgets")
        .with_status()
        .pruning(|object| {
            for (part, known) in [("spec", ["color", "size"].as_slice()), ("status", &["ready"])] {
                if let Some(fields) = object.get_mut(part).and_then(Value::as_object_mut) {
                    fields.retain(|field, _| known.contains(&field.as_str()));
                }
            }
            if let Some(fields) = object.as_object_mut() {
                fields.retain(|field, _| {
                    ["apiVersion", "kind", "metadata", "spec", "status"].contains(&field.as_str())
                });
            }
        })
        .defaulting(|object| {
            if let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) {
                spec.retain(|_, value| !value.is_null());
                spec.entry("color").or_insert_with(|| json!("blue"));
            }
        })
}

/// Returns the CRD that makes a real server serve the same resource.
pub fn crd() -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": "widgets.fake.example.com" },
        "spec": {
            "group": "fake.example.com", "scope": "Namespaced",
            "names": { "kind": "Widget", "listKind": "WidgetList", "plural": "widgets", "singular": "widget" },
            "versions": [{
                "name": "v1", "served": true, "storage": true, "subresources": { "status": {} },
                "schema": { "openAPIV3Schema": { "type": "object", "properties": {
                    "spec": { "type": "object", "properties": {
                        "size": { "type": "integer" },
                        "color": { "type": "string", "default": "blue" },
                    } },
                    "status": { "type": "object", "properties": { "ready": { "type": "integer" } } },
                } } },
            }],
        },
    })
}

/// Creates the CRD of the script's resource on a real server and waits until the server serves it.
pub async fn prepare(client: &Client) -> Result<(), String> {
    let steps = [
        Step::new("the CRD exists").post(objects::CRDS, crd()).expect(201).or(409),
        Step::new("the resource is served").get(objects::WIDGETS_EVERYWHERE).eventually().expect(200),
    ];
    let mut run = Run::new(client, "unused");
    for step in steps {
        run.step(&step).await?;
    }
    Ok(())
}

/// Runs the script. `name` begins the names of its namespaces. Reports every step when it is done; a failed
/// step does not keep the next from being tried.
pub async fn run(client: &Client, name: &str, mut report: impl FnMut(&Outcome)) -> Vec<Outcome> {
    let mut run = Run::new(client, name);
    let mut outcomes = Vec::new();
    for step in script::steps() {
        let fault = run.step(&step).await.err();
        let outcome = Outcome { step: step.name, fault };
        report(&outcome);
        outcomes.push(outcome);
    }
    outcomes
}

/// A script under way: the server, and what was remembered of its answers.
struct Run<'a> {
    client: &'a Client,
    memory: BTreeMap<String, String>,
}

impl<'a> Run<'a> {
    fn new(client: &'a Client, name: &str) -> Self {
        let memory = [("ns", name.to_owned()), ("doomed", format!("{name}-doomed"))];
        Self { client, memory: memory.into_iter().map(|(key, value)| (key.to_owned(), value)).collect() }
    }

    /// Runs a step, and remembers the values that later steps need.
    async fn step(&mut self, step: &Step) -> Result<(), String> {
        let answer = match step.awaits {
            Await::Nothing => self.ask(step).await?,
            Await::Events(count) => self.watch(step, count).await?,
            Await::Effect => {
                let eventually = async {
                    loop {
                        let answer = self.ask(step).await?;
                        if step.judge(&answer, &self.memory).is_ok() {
                            return Ok::<_, String>(answer);
                        }
                        tokio::time::sleep(AGAIN).await;
                    }
                };
                match timeout(PATIENCE, eventually).await {
                    Ok(answer) => answer?,
                    Err(_) => self.ask(step).await?,
                }
            }
        };
        for (key, pointer) in &step.saves {
            let value =
                answer.body.pointer(pointer).map(|v| v.as_str().map_or_else(|| v.to_string(), str::to_owned));
            self.memory.insert((*key).to_owned(), value.unwrap_or_default());
        }
        step.judge(&answer, &self.memory)
    }

    fn request(&self, step: &Step) -> Result<Request<Body>, String> {
        let body =
            if step.body.is_null() { String::new() } else { fill(&step.body.to_string(), &self.memory) };
        Request::builder()
            .method(step.method)
            .uri(fill(&step.path, &self.memory))
            .header("content-type", step.content_type)
            .header("accept", step.accept)
            .body(Body::from(body.into_bytes()))
            .map_err(|error| error.to_string())
    }

    async fn ask(&self, step: &Step) -> Result<Answer, String> {
        let response = self.client.send(self.request(step)?).await.map_err(|error| error.to_string())?;
        let code = response.status().as_u16();
        let bytes = response.into_body().collect().await.map_err(|error| error.to_string())?.to_bytes();
        let text = || Value::String(String::from_utf8_lossy(&bytes).into_owned());
        Ok(Answer { code, body: serde_json::from_slice(&bytes).unwrap_or_else(|_| text()) })
    }

    /// Reads `count` events of a watch: the answer's body is their list.
    async fn watch(&self, step: &Step, count: usize) -> Result<Answer, String> {
        let response = self.client.send(self.request(step)?).await.map_err(|error| error.to_string())?;
        let code = response.status().as_u16();
        let mut body = response.into_body();
        let mut text = Vec::new();
        let mut events = Vec::new();
        while events.len() < count {
            let frame = timeout(PATIENCE, body.frame()).await;
            let frame = frame.map_err(|_| format!("no more than these events came: {}", json!(events)))?;
            let Some(frame) = frame.transpose().map_err(|error| error.to_string())? else { break };
            text.extend_from_slice(frame.data_ref().map(AsRef::as_ref).unwrap_or_default());
            while let Some(end) = text.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = text.drain(..=end).collect();
                events.push(serde_json::from_slice::<Value>(&line).map_err(|error| error.to_string())?);
            }
        }
        Ok(Answer { code, body: Value::Array(events) })
    }
}
