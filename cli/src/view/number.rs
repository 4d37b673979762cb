//! Numbers of a status, of which some are not known.

use serde_json::Value;

use super::UNKNOWN;

/// A number that a status reports; `None` where it does not.
pub type Number = Option<i64>;

/// The number in a field; `None` where there is none.
pub fn number(of: &Value, field: &str) -> Number {
    of.get(field)?.as_i64()
}

/// The number, or the mark of what is not known.
pub fn shown(number: Number) -> String {
    number.map_or_else(|| UNKNOWN.to_owned(), |number| number.to_string())
}

/// `1/3`, with the mark of what is not known in place of either.
pub fn of(part: Number, whole: Number) -> String {
    format!("{}/{}", shown(part), shown(whole))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn unknown_is_never_shown_as_none() {
        let status = json!({"ready": 0, "odd": "x"});
        assert_eq!(of(number(&status, "ready"), number(&status, "desired")), "0/?");
        assert_eq!(shown(number(&status, "odd")), "?");
        assert_eq!(shown(number(&Value::Null, "ready")), "?");
    }
}
