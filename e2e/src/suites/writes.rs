//! The requests and writes that fedhub sent to the planes, from their audit logs.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader};

use jiff::Timestamp;
use serde::Deserialize;

use crate::Error;
use crate::topology::{Holder, Layout};

/// The annotation that shows whether RBAC allows a request.
const DECISION: &str = "authorization.k8s.io/decision";

/// A request of fedhub's that a plane answered.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Event {
    /// `create`, `update`, `patch` or `delete`, among others.
    pub verb: String,
    /// Path and query.
    #[serde(rename = "requestURI")]
    pub uri: String,
    #[serde(rename = "requestReceivedTimestamp")]
    received: Timestamp,
    user: User,
    object_ref: Option<ObjectRef>,
    response_status: Option<ResponseStatus>,
    #[serde(default)]
    annotations: BTreeMap<String, String>,
}

#[derive(Debug, Deserialize)]
struct User {
    username: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ObjectRef {
    api_group: Option<String>,
    resource: Option<String>,
    subresource: Option<String>,
    namespace: Option<String>,
    name: Option<String>,
}

#[derive(Debug, Deserialize)]
struct ResponseStatus {
    code: Option<u16>,
}

impl Event {
    /// Whether it could have changed a federated object. Dry runs change nothing; Kubernetes Events only
    /// report about other objects, and Leases concern only the replicas.
    fn is_write(&self) -> bool {
        let resource = self.object_ref.as_ref().and_then(|object| object.resource.as_deref());
        matches!(self.verb.as_str(), "create" | "update" | "patch" | "delete" | "deletecollection")
            && !self.uri.contains("dryRun=All")
            && !matches!(resource, Some("events" | "leases"))
    }

    /// The plural of what was asked about, `/` and the subresource behind it where there is one; the path of
    /// what is no resource.
    pub fn resource(&self) -> String {
        let Some((object, resource)) =
            self.object_ref.as_ref().and_then(|object| Some((object, object.resource.as_deref()?)))
        else {
            return self.uri.split('?').next().unwrap_or_default().to_owned();
        };
        match &object.subresource {
            Some(subresource) => format!("{resource}/{subresource}"),
            None => resource.to_owned(),
        }
    }

    /// The API group of what was asked about; empty for the core group, and for what is no resource.
    pub fn group(&self) -> &str {
        self.object_ref.as_ref().and_then(|object| object.api_group.as_deref()).unwrap_or_default()
    }

    /// The namespace of what was asked about; none where that is in none, or in any. A Namespace is in none,
    /// although the audit log has its name there.
    pub fn namespace(&self) -> Option<&str> {
        let object =
            self.object_ref.as_ref().filter(|object| object.resource.as_deref() != Some("namespaces"))?;
        object.namespace.as_deref().filter(|namespace| !namespace.is_empty())
    }

    /// Whether it was refused.
    pub fn refused(&self) -> bool {
        self.response_status.as_ref().and_then(|status| status.code).is_none_or(|code| code >= 400)
    }

    /// Whether its user had the right to it, where the plane came to ask.
    pub fn allowed(&self) -> Option<bool> {
        self.annotations.get(DECISION).map(|decision| decision == "allow")
    }

    /// Whose it is.
    pub fn user(&self) -> &str {
        &self.user.username
    }

    /// A line that names it.
    pub fn line(&self, plane: &str) -> String {
        let code = self.response_status.as_ref().and_then(|status| status.code);
        let code = code.map_or_else(|| "?".to_owned(), |code| code.to_string());
        format!("{} {plane} {} {} {code}", self.received, self.verb, self.uri)
    }
}

/// fedhub's writes on a plane since `since`, those that were refused included; in these namespaces only, if
/// any is given.
pub fn since(
    layout: &Layout,
    plane: &str,
    since: Timestamp,
    namespaces: &[String],
) -> Result<Vec<Event>, Error> {
    Ok(requests(layout, plane, since, namespaces)?.into_iter().filter(Event::is_write).collect())
}

/// All of fedhub's requests, likewise; watches end later than they were asked for, and may be missing.
pub fn requests(
    layout: &Layout,
    plane: &str,
    since: Timestamp,
    namespaces: &[String],
) -> Result<Vec<Event>, Error> {
    let users: Vec<_> = Holder::all().map(Holder::user).collect();
    let path = layout.audit_log(plane);
    let file = File::open(&path).map_err(Error::file("open", &path))?;
    let mut events = Vec::new();
    for line in BufReader::new(file).lines() {
        let line = line.map_err(Error::file("read", &path))?;
        // The last line may not be whole yet: then its request has not been answered.
        events
            .extend(parse(&line, &users).filter(|event| event.received >= since && event.is_in(namespaces)));
    }
    Ok(events)
}

impl Event {
    /// A namespace is in itself.
    fn is_in(&self, namespaces: &[String]) -> bool {
        let own = self.object_ref.as_ref().and_then(|object| match object.resource.as_deref() {
            Some("namespaces") => object.name.as_ref(),
            _ => object.namespace.as_ref(),
        });
        namespaces.is_empty() || own.is_some_and(|own| namespaces.contains(own))
    }
}

fn parse(line: &str, users: &[String]) -> Option<Event> {
    // Most lines are of others, and parsing them all takes its time.
    if !users.iter().any(|user| line.contains(user)) {
        return None;
    }
    let event: Event = serde_json::from_str(line).ok()?;
    users.contains(&event.user.username).then_some(event)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(user: &str, verb: &str, query: &str, resource: &str) -> String {
        format!(
            r#"{{"kind":"Event","stage":"ResponseComplete","requestURI":"/apis/x{query}","verb":"{verb}","user":{{"username":"{user}"}},"objectRef":{{"resource":"{resource}","namespace":"n","name":"itself"}},"responseStatus":{{"code":200}},"requestReceivedTimestamp":"2026-01-02T03:04:05.678901Z"}}"#
        )
    }

    const USER: &str = "system:serviceaccount:fedhub-system:fedhub";

    fn parse(line: &str) -> Option<Event> {
        super::parse(line, &[USER.to_owned()])
    }

    #[test]
    fn a_request_is_told_by_its_subresource_too() {
        let event = parse(&line(USER, "get", "", r#"instances","subresource":"status"#)).unwrap();
        assert_eq!((event.resource().as_str(), event.refused()), ("instances/status", false));
        assert_eq!(parse(&line(USER, "get", "", "instances")).unwrap().resource(), "instances");
        assert!(parse(&line("admin", "get", "", "instances")).is_none());
    }

    #[test]
    fn a_request_without_a_right_is_told_from_one_that_is_refused_for_what_it_asks() {
        let decided = |decision: &str| {
            let annotated = format!(r#","annotations":{{"{DECISION}":"{decision}"}}}}"#);
            let line = line(USER, "list", "", "secrets");
            parse(&(line.trim_end_matches('}').to_owned() + &annotated)).unwrap().allowed()
        };
        assert_eq!((decided("forbid"), decided("allow")), (Some(false), Some(true)));
        assert_eq!(parse(&line(USER, "list", "", "secrets")).unwrap().allowed(), None);
    }

    #[test]
    fn the_users_are_those_of_the_audit_logs() {
        assert_eq!(Holder::Fedhub.user(), USER);
        assert_eq!(Holder::Cell.user(), "system:serviceaccount:fedhub-cells:fedhub-cell");
        assert_eq!(Holder::CellOnHub("cell-dfw").user(), "system:serviceaccount:fedhub-cells:cell-dfw");
    }

    #[test]
    fn only_real_writes_of_fedhub_count() {
        for (user, verb, query, resource, counts) in [
            (USER, "update", "", "workloaddeployments", true),
            (USER, "delete", "?propagationPolicy=Background", "instances", true),
            (USER, "update", "?fieldManager=x&dryRun=All", "workloaddeployments", false),
            (USER, "get", "", "namespaces", false),
            (USER, "watch", "", "instances", false),
            (USER, "create", "", "events", false),
            (USER, "patch", "", "leases", false),
            ("admin", "update", "", "workloaddeployments", false),
        ] {
            let event = parse(&line(user, verb, query, resource)).filter(Event::is_write);
            assert_eq!(event.is_some(), counts, "{user} {verb} {query} {resource}");
        }
        let event = parse(&line(USER, "patch", "", "namespaces")).unwrap();
        assert_eq!(event.line("hub"), "2026-01-02T03:04:05.678901Z hub patch /apis/x 200");
        assert!(event.is_in(&[]) && event.is_in(&["itself".to_owned()]) && !event.is_in(&["n".to_owned()]));
        let event = parse(&line(USER, "patch", "", "instances")).unwrap();
        assert!(event.is_in(&[]) && event.is_in(&["n".to_owned()]) && !event.is_in(&["itself".to_owned()]));
    }
}
