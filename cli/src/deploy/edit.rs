//! Changes of lists inside of a spec.

use serde_json::Value;

/// Changes the list `field` of an object. A list that the change empties goes, and one that it does not fill
/// is not made.
pub fn edit_list(object: &mut Value, field: &str, edit: impl FnOnce(&mut Vec<Value>)) {
    let Some(fields) = object.as_object_mut() else { return };
    let before = fields.get(field).and_then(Value::as_array);
    let mut items = before.cloned().unwrap_or_default();
    edit(&mut items);
    if before.is_some_and(|before| *before == items) {
        return;
    }
    if items.is_empty() {
        fields.remove(field);
    } else {
        fields.insert(field.to_owned(), Value::Array(items));
    }
}

/// Returns the index of the item of that name.
pub fn find(items: &[Value], name: &str) -> Option<usize> {
    items.iter().position(|item| item["name"] == name)
}

/// Puts an item in the place of the one of its name, or at the end.
pub fn put(items: &mut Vec<Value>, item: Value) {
    match items.iter_mut().find(|other| other["name"] == item["name"]) {
        Some(other) => *other = item,
        None => items.push(item),
    }
}
