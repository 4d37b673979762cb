//! Fields of objects that are those of another one.

use serde::Deserialize;
use serde_json::Value;

/// What is copied from where to where.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Replacement {
    source: Source,
    targets: Vec<Target>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Source {
    kind: String,
    name: Option<String>,
    field_path: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Target {
    select: Select,
    field_paths: Vec<String>,
    #[serde(default)]
    options: Options,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Select {
    kind: String,
    name: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Options {
    create: bool,
}

impl Replacement {
    /// Makes it. The source has to be one object; a target that is not there is none.
    pub fn make(&self, objects: &mut [Value]) -> Result<(), String> {
        let Source { kind, name, field_path } = &self.source;
        let mut sources = objects.iter().filter(|object| is(object, kind, name.as_deref()));
        let (Some(source), None) = (sources.next(), sources.next()) else {
            return Err(format!("{kind} {name:?} is not one object"));
        };
        let parts = split(field_path);
        let value = parts.iter().try_fold(source, |at, part| at.get(part));
        let value = value.ok_or_else(|| format!("{kind} has no {field_path}"))?.clone();
        for Target { select, field_paths, options } in &self.targets {
            let selected = |object: &&mut Value| is(object, &select.kind, select.name.as_deref());
            for object in objects.iter_mut().filter(selected) {
                for path in field_paths {
                    set(object, &split(path), options.create, &value)
                        .ok_or_else(|| format!("{} has no {path}", select.kind))?;
                }
            }
        }
        Ok(())
    }
}

fn is(object: &Value, kind: &str, name: Option<&str>) -> bool {
    object["kind"] == kind && name.is_none_or(|name| object["metadata"]["name"] == name)
}

/// `a.[b.c/d].0` in its parts.
fn split(path: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut within = false;
    for character in path.chars() {
        match character {
            '[' | ']' => within = character == '[',
            '.' if !within => parts.push(String::new()),
            _ => parts.last_mut().unwrap().push(character),
        }
    }
    parts
}

fn set(object: &mut Value, path: &[String], create: bool, value: &Value) -> Option<()> {
    let (last, way) = path.split_last()?;
    let parent = way.iter().try_fold(object, |at, part| match at {
        Value::Array(items) => items.get_mut(part.parse::<usize>().ok()?),
        _ => at.get_mut(part),
    })?;
    let fields = parent.as_object_mut()?;
    if !create && !fields.contains_key(last) {
        return None;
    }
    fields.insert(last.clone(), value.clone());
    Some(())
}

#[test]
fn a_path_has_its_parts() {
    assert_eq!(split("metadata.labels.[a.b/c]"), ["metadata", "labels", "a.b/c"]);
    assert_eq!(split("spec.list.0.name"), ["spec", "list", "0", "name"]);
}

#[test]
fn a_field_is_copied_or_its_absence_is_said() {
    let objects = serde_json::json!([
        {"kind": "A", "metadata": {"name": "a"}, "spec": {"b": {"c": "d"}}},
        {"kind": "B", "metadata": {"name": "b"}, "list": [{"e": {}}]},
    ]);
    let replaced = |path: &str, create: bool| {
        let mut objects = objects.as_array().unwrap().clone();
        let replacement: Replacement = serde_json::from_value(serde_json::json!({
            "source": {"kind": "A", "fieldPath": "spec.b"},
            "targets": [{"select": {"kind": "B"}, "fieldPaths": [path], "options": {"create": create}}],
        }))
        .unwrap();
        replacement.make(&mut objects).map(|()| objects)
    };
    assert_eq!(replaced("list.0.e", false).unwrap()[1]["list"][0]["e"]["c"], "d");
    assert_eq!(replaced("list.0.f", false).unwrap_err(), "B has no list.0.f");
    assert_eq!(replaced("list.0.f", true).unwrap()[1]["list"][0]["f"]["c"], "d");
}
