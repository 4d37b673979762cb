//! From what a request asks for to the answer.

use std::sync::Arc;

use hyper::body::Bytes;
use serde_json::{Value, json};

use crate::answer::Refusal;
use crate::object::Stored;
use crate::patch::Patch;
use crate::read::{ListRequest, Page};
use crate::resource::Resource;
use crate::route::Call;
use crate::selector::Filter;
use crate::store::Key;
use crate::watch::Session;
use crate::world::{Shared, World};
use crate::write::{Deleted, Preconditions, Update};
use crate::{discovery, meta, view};

/// A good answer.
pub(crate) enum Reply {
    /// A whole body.
    Json(u16, String),
    /// A body that goes on.
    Watch(Box<Session>),
}

/// The parts of a request.
pub(crate) struct Sent<'a> {
    body: &'a Bytes,
    /// The object that is to be created or replaced; null of other requests.
    object: Result<Value, Refusal>,
}

impl<'a> Sent<'a> {
    /// Reads the object, for which nothing may be locked: a large one takes a while.
    pub(crate) fn read(call: &Call, body: &'a Bytes) -> Self {
        let object = if matches!(call.verb, "create" | "update") { parse(body) } else { Ok(Value::Null) };
        Self { body, object }
    }
}

/// Carries a request out.
pub(crate) fn dispatch(
    shared: &Arc<Shared>,
    world: &mut World,
    call: &Call,
    Sent { body, object }: Sent<'_>,
) -> Result<Reply, Refusal> {
    let Some(index) = call.resource else {
        let found = discovery::answer(&call.path, &world.resources).filter(|_| call.verb == "get");
        return found.map(|found| Reply::Json(200, found.to_string())).ok_or_else(Refusal::no_such_path);
    };
    let resource = world.resource(index);
    let namespace = call.namespace.clone().unwrap_or_default();
    if call.verb == "create" && resource.namespaced && namespace.is_empty() {
        return Err(Refusal::method_not_allowed());
    }
    let status = call.subresource.is_some();
    let dry_run = dry_run(call.param("dryRun"))?;
    let single = |object: &Stored| {
        if call.metadata_only { view::partial(object).to_string() } else { object.text().to_owned() }
    };
    let key = call.name.clone().map(|name| Key { resource: index, namespace: namespace.clone(), name });
    match (call.verb, key) {
        ("get", Some(key)) => Ok(Reply::Json(200, single(&world.read(&key, call.param("resourceVersion"))?))),
        ("list", None) => {
            let page = world.page(index, call.namespace.as_deref(), &list_request(call)?)?;
            Ok(Reply::Json(200, view::list(&resource, &page, call.metadata_only)))
        }
        ("watch", None) => Ok(Reply::Watch(Box::new(Session::open(shared, world, index, call)?))),
        ("create", None) => {
            let stored = world.create(index, &namespace, object?, dry_run)?;
            Ok(Reply::Json(201, single(&stored)))
        }
        ("update", Some(key)) => {
            let (stored, created) = world.update(&key, status, Update::Replace(object?), dry_run)?;
            Ok(Reply::Json(if created { 201 } else { 200 }, single(&stored)))
        }
        ("patch", Some(key)) => {
            let patch = Patch::parse(&call.content_type, body)?;
            let (object, _) = world.update(&key, status, Update::Patch(patch), dry_run)?;
            Ok(Reply::Json(200, single(&object)))
        }
        ("delete", Some(key)) if !status => {
            let options = delete_options(body)?;
            let dry_run = dry_run || options.1;
            Ok(match world.delete(&key, &options.0, dry_run)? {
                Deleted::Marked(object) => Reply::Json(200, single(&object)),
                Deleted::Gone(object) => Reply::Json(200, success(&resource, &object.value()).to_string()),
            })
        }
        ("deletecollection", None) => {
            let options = delete_options(body)?;
            let page = world.page(index, call.namespace.as_deref(), &list_request(call)?)?;
            delete_all(world, index, &page, dry_run || options.1);
            Ok(Reply::Json(200, view::list(&resource, &page, call.metadata_only)))
        }
        _ => Err(Refusal::method_not_allowed()),
    }
}

fn delete_all(world: &mut World, resource: usize, page: &Page, dry_run: bool) {
    for object in page.items.iter().map(Stored::value) {
        let namespace = meta::text(&object, "namespace").to_owned();
        let name = meta::text(&object, "name").to_owned();
        // One that went with another one's deletion needs no deleting any more.
        let _gone = world.delete(&Key { resource, namespace, name }, &Preconditions::default(), dry_run);
    }
}

fn list_request(call: &Call) -> Result<ListRequest, Refusal> {
    let limit = call.param("limit").unwrap_or("0");
    Ok(ListRequest {
        filter: Filter::parse(call.param("labelSelector"), call.param("fieldSelector"))?,
        limit: limit.parse().map_err(|_| Refusal::bad_request(format!("limit: Invalid value: {limit:?}")))?,
        token: call.param("continue").filter(|token| !token.is_empty()).map(ToOwned::to_owned),
        resource_version: call.param("resourceVersion").map(ToOwned::to_owned),
        exact: call.param("resourceVersionMatch") == Some("Exact"),
    })
}

fn dry_run(value: Option<&str>) -> Result<bool, Refusal> {
    match value {
        None | Some("") => Ok(false),
        Some("All") => Ok(true),
        Some(other) => Err(Refusal::bad_request(format!(
            "dryRun: Unsupported value: {other:?}: supported values: \"All\""
        ))),
    }
}

fn parse(body: &[u8]) -> Result<Value, Refusal> {
    serde_json::from_slice(body)
        .map_err(|error| Refusal::bad_request(format!("the body cannot be decoded: {error}")))
}

/// The preconditions in a `DeleteOptions` body, and whether it is a dry run.
fn delete_options(body: &[u8]) -> Result<(Preconditions, bool), Refusal> {
    if body.is_empty() {
        return Ok((Preconditions::default(), false));
    }
    let options = parse(body)?;
    let text = |field: &str| options["preconditions"][field].as_str().map(ToOwned::to_owned);
    let only = Preconditions { uid: text("uid"), resource_version: text("resourceVersion") };
    Ok((only, dry_run(options["dryRun"][0].as_str())?))
}

/// The answer to a delete that removed the object.
fn success(resource: &Resource, object: &Value) -> Value {
    let mut details = json!({ "name": object["metadata"]["name"], "kind": resource.plural, "uid": object["metadata"]["uid"] });
    if !resource.group.is_empty() {
        details["group"] = json!(resource.group);
    }
    json!({ "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details })
}
