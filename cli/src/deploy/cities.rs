//! The cities that flags and files name. Pure.

use serde_json::Value;

use crate::view::object::is_city;

/// The rule for the cities of a placement: a server with admission enforces it too, and one without it stores
/// both.
pub const CITY_RULE: &str = "a city stands once in a placement, in whatever case";

/// The codes of cities that were typed in whatever case: as the workload has them, else in capitals, as codes
/// are written.
pub fn codes(typed: &[String], spec: &Value) -> Vec<String> {
    let known: Vec<&str> = spec["placements"].as_array().into_iter().flatten().flat_map(named).collect();
    typed
        .iter()
        .map(|typed| match known.iter().find(|code| is_city(code, typed)) {
            Some(code) => (*code).to_owned(),
            None => typed.to_ascii_uppercase(),
        })
        .collect()
}

/// The cities that a placement names.
pub fn named(placement: &Value) -> impl Iterator<Item = &str> {
    placement["cityCodes"].as_array().into_iter().flatten().filter_map(Value::as_str)
}

/// The cities that stand behind the same city, with their places in the list.
pub fn repeated<'a>(codes: &[&'a str]) -> Vec<(usize, &'a str)> {
    codes
        .iter()
        .copied()
        .enumerate()
        .filter(|(index, code)| codes[..*index].iter().any(|before| is_city(before, code)))
        .collect()
}
