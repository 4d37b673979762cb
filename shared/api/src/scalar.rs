//! Values that are either a number or a string in JSON.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// What a Kubernetes quantity looks like when it is written as a string.
const QUANTITY_PATTERN: &str = r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$";

/// A Kubernetes quantity, such as `500m` or `10Gi`. It is kept as it was written.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Quantity {
    /// A plain whole number.
    Int(i64),
    /// A number with a suffix or an exponent.
    String(String),
}

impl JsonSchema for Quantity {
    fn schema_name() -> Cow<'static, str> {
        "Quantity".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "anyOf": [{"type": "integer"}, {"type": "string"}],
            "pattern": QUANTITY_PATTERN,
            "x-kubernetes-int-or-string": true,
        })
    }
}

/// A whole number or a string, such as a port by number or by name.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum IntOrString {
    /// The number: whatever the schema admits, which bounds none.
    Int(i64),
    /// The string.
    String(String),
}

impl JsonSchema for IntOrString {
    fn schema_name() -> Cow<'static, str> {
        "IntOrString".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "anyOf": [{"type": "integer"}, {"type": "string"}],
            "x-kubernetes-int-or-string": true,
        })
    }
}

/// What a percentage from 0 to 100 looks like.
pub const PERCENT_PATTERN: &str = "^(100|[1-9]?[0-9])%$";

/// The largest number that stands where a percentage may: that of all instances of a WorkloadDeployment.
const MOST: i64 = 1000;

/// A number of instances, or a percentage of those that are wanted, such as `25%`.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum IntOrPercent {
    /// The number.
    Int(i64),
    /// The percentage, with its sign.
    Percent(String),
}

impl IntOrPercent {
    /// The number of `total` instances, a fraction rounded down; `None` for a value out of range.
    pub fn rounded_down(&self, total: u32) -> Option<u32> {
        self.resolved(total, 0)
    }

    /// The number of `total` instances, a fraction rounded up; `None` for a value out of range.
    pub fn rounded_up(&self, total: u32) -> Option<u32> {
        self.resolved(total, 99)
    }

    fn resolved(&self, total: u32, carry: u64) -> Option<u32> {
        match self {
            Self::Int(number) => (0..=MOST).contains(number).then(|| u32::try_from(*number).ok())?,
            Self::Percent(text) => {
                let digits = text.strip_suffix('%').filter(|all| all.bytes().all(|b| b.is_ascii_digit()))?;
                let percent = digits.parse().ok().filter(|percent: &u64| *percent <= 100)?;
                u32::try_from((percent * u64::from(total) + carry) / 100).ok()
            }
        }
    }
}

impl fmt::Display for IntOrPercent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Int(number) => write!(f, "{number}"),
            Self::Percent(text) => f.write_str(text),
        }
    }
}

impl JsonSchema for IntOrPercent {
    fn schema_name() -> Cow<'static, str> {
        "IntOrPercent".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "anyOf": [{"type": "integer"}, {"type": "string"}],
            "minimum": 0,
            "maximum": MOST,
            "pattern": PERCENT_PATTERN,
            "x-kubernetes-int-or-string": true,
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn read(value: Value) -> IntOrPercent {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn c2_percentages_are_rounded_as_kubernetes_rounds_those_of_a_deployment() {
        for (value, total, down, up) in [
            (json!(2), 3, 2, 2),
            (json!(0), 3, 0, 0),
            (json!("25%"), 10, 2, 3),
            (json!("25%"), 3, 0, 1),
            (json!("25%"), 4, 1, 1),
            (json!("100%"), 7, 7, 7),
            (json!("0%"), 7, 0, 0),
            (json!("1%"), 1000, 10, 10),
            (json!("50%"), 0, 0, 0),
        ] {
            let value = read(value);
            assert_eq!(
                (value.rounded_down(total), value.rounded_up(total)),
                (Some(down), Some(up)),
                "{value}"
            );
        }
    }

    #[test]
    fn c2_what_is_neither_a_number_nor_a_percentage_in_range_says_nothing() {
        for value in [
            json!(-1),
            json!(1001),
            json!(i64::MAX),
            json!("1"),
            json!("101%"),
            json!("%"),
            json!("-5%"),
            json!("+5%"),
            json!("5 %"),
            json!("99999999999999999999%"),
        ] {
            assert_eq!(read(value.clone()).rounded_down(10), None, "{value}");
            assert_eq!(read(value.clone()).rounded_up(10), None, "{value}");
        }
    }
}
