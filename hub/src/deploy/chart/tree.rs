//! What is the same in every rendering of an overlay, and what comes or goes with a component.

use serde_json::Value;

/// When something is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum When {
    /// Always.
    Always,
    /// With any of these components.
    With(Vec<&'static str>),
    /// With none of these components.
    Without(Vec<&'static str>),
}

/// Something, and when it is there.
#[derive(Clone, Debug, PartialEq)]
pub struct Part<T> {
    pub when: When,
    pub of: T,
}

/// An object, or a part of one.
#[derive(Clone, Debug, PartialEq)]
pub enum Tree {
    Scalar(Value),
    Map(Vec<(String, Part<Tree>)>),
    List(Vec<Part<Tree>>),
}

/// The rendering with one component.
pub type Variant<'a> = (&'static str, &'a Value);

/// One tree of the rendering without any component, and those with one each.
pub fn merge(plain: &Value, variants: &[Variant<'_>]) -> Tree {
    match plain {
        Value::Object(_) => Tree::Map(maps(plain, variants)),
        Value::Array(_) => Tree::List(lists(plain, variants)),
        scalar => {
            for (component, other) in variants {
                assert_eq!(scalar, *other, "{component} changes a value that is no item of a list");
            }
            Tree::Scalar(scalar.clone())
        }
    }
}

fn maps(plain: &Value, variants: &[Variant<'_>]) -> Vec<(String, Part<Tree>)> {
    let fields = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    let mut names = fields(plain);
    names.extend(variants.iter().flat_map(|(_, other)| fields(other)));
    names.sort();
    names.dedup();
    let part = |name: String| {
        let others = variants.iter().map(|(of, other)| (*of, other.get(&name)));
        let found = part(plain.get(&name), others);
        (name, found)
    };
    names.into_iter().map(part).collect()
}

/// What has one place in all renderings.
fn part<'a>(
    plain: Option<&'a Value>,
    variants: impl Iterator<Item = (&'static str, Option<&'a Value>)>,
) -> Part<Tree> {
    let (there, gone): (Vec<_>, Vec<_>) = variants.partition(|(_, other)| other.is_some());
    let names = |of: &[(&'static str, Option<&Value>)]| of.iter().map(|(name, _)| *name).collect::<Vec<_>>();
    let there: Vec<_> = there.into_iter().filter_map(|(name, other)| Some((name, other?))).collect();
    if let Some(plain) = plain {
        let when = if gone.is_empty() { When::Always } else { When::Without(names(&gone)) };
        return Part { when, of: merge(plain, &there) };
    }
    let all = there.iter().map(|(name, _)| *name).collect();
    Part { when: When::With(all), of: merge(there[0].1, &there[1..]) }
}

/// What makes an item of a list the same one in two renderings.
fn identity(item: &Value) -> String {
    let metadata = &item["metadata"];
    if metadata.is_object() {
        return [&item["kind"], &metadata["namespace"], &metadata["name"]].map(Value::to_string).join(" ");
    }
    item.get("name").map_or_else(|| item.to_string(), Value::to_string)
}

fn items(value: &Value) -> Vec<(String, &Value)> {
    value.as_array().unwrap().iter().map(|item| (identity(item), item)).collect()
}

/// An item in all renderings that have it: in place `plain` of the one without components, or between those.
struct Row<'a> {
    identity: String,
    plain: Option<&'a Value>,
    variants: Vec<Variant<'a>>,
}

fn lists(plain: &Value, variants: &[Variant<'_>]) -> Vec<Part<Tree>> {
    let row = |(identity, item)| Row { identity, plain: Some(item), variants: Vec::new() };
    let mut rows: Vec<Row<'_>> = items(plain).into_iter().map(row).collect();
    for (component, other) in variants {
        let other = items(other);
        for (at, (identity, item)) in other.iter().enumerate() {
            if let Some(row) = rows.iter_mut().find(|row| row.identity == *identity) {
                row.variants.push((component, item));
                continue;
            }
            let place = place(&rows, &other, at);
            let row = Row { identity: identity.clone(), plain: None, variants: vec![(component, item)] };
            rows.insert(place, row);
        }
    }
    let part = |row: Row<'_>| {
        let of = |component: &'static str| {
            row.variants.iter().find(|(of, _)| *of == component).map(|(_, item)| *item)
        };
        part(row.plain, variants.iter().map(|(component, _)| (*component, of(component))))
    };
    rows.into_iter().map(part).collect()
}

/// Where an item comes that no rendering had so far: before the next one that is known, or in place of what is gone, else
/// last.
fn place(rows: &[Row<'_>], other: &[(String, &Value)], at: usize) -> usize {
    let known = |(identity, _): &(String, &Value)| rows.iter().position(|row| row.identity == *identity);
    if let Some(next) = other[at + 1..].iter().find_map(known) {
        return next;
    }
    let after = other[..at].iter().rev().find_map(known).map_or(0, |before| before + 1);
    let is_gone = |row: &&Row<'_>| row.plain.is_some() && other.iter().all(|(of, _)| *of != row.identity);
    let gone = rows[after..].iter().take_while(is_gone).count();
    if gone > 0 { after + gone } else { rows.len() }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_comes_and_goes_is_known_by_its_component() {
        let plain = json!({"args": ["run", "--a", "--z"], "env": [{"name": "e", "value": 1}]});
        let one = json!({"args": ["run", "--b", "--z", "--last"], "env": [{"name": "e", "value": 1}]});
        let two =
            json!({"args": ["run", "--a", "--z", "--last"], "env": [{"name": "e", "value": 1}], "new": 2});
        let Tree::Map(fields) = merge(&plain, &[("one", &one), ("two", &two)]) else { panic!() };
        let Tree::List(args) = &fields[0].1.of else { panic!() };
        let shown: Vec<_> = args
            .iter()
            .map(|part| match &part.of {
                Tree::Scalar(value) => (value.as_str().unwrap(), part.when.clone()),
                _ => panic!(),
            })
            .collect();
        let expected = [
            ("run", When::Always),
            ("--a", When::Without(vec!["one"])),
            ("--b", When::With(vec!["one"])),
            ("--z", When::Always),
            ("--last", When::With(vec!["one", "two"])),
        ];
        assert_eq!(shown, expected);
        assert_eq!(
            fields[2],
            ("new".to_owned(), Part { when: When::With(vec!["two"]), of: Tree::Scalar(json!(2)) })
        );
    }
}
