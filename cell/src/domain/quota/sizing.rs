//! How much CPU and memory an Instance counts for.

use fedhub_api::instance_types::{self, Size};
use fedhub_core::message::Quoted;
use fedhub_core::quantity::{self, BadQuantity};
use serde_json::Value;

/// The size of an Instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sizing {
    /// The size is known.
    Known {
        /// CPU in thousandths of a core.
        millicores: i64,
        /// Memory in MiB.
        mebibytes: i64,
    },
    /// The size is unknown, for this reason: the Instance is counted, its size is not.
    Unknown(String),
}

/// The size of an Instance, from its `spec`: the sum of its containers' limits, if every container has one for both CPU
/// and memory; else the requests of its runtime, if both; else its type's size. A value that is not a quantity makes
/// the size unknown.
pub fn of(spec: &Value) -> Sizing {
    let runtime = &spec["runtime"];
    let containers = runtime["sandbox"]["containers"].as_array().map_or(&[][..], Vec::as_slice);
    let limits: Vec<_> = containers.iter().map_while(|c| both(&c["resources"]["limits"])).collect();
    let given = if !containers.is_empty() && limits.len() == containers.len() {
        limits
    } else {
        both(&runtime["resources"]["requests"]).into_iter().collect()
    };
    if !given.is_empty() {
        return sum(&given);
    }
    let name = runtime["resources"]["instanceType"].as_str().unwrap_or_default();
    match instance_types::built_in(name) {
        Some(Size { millicores, mebibytes }) => Sizing::Known { millicores, mebibytes },
        None if name.is_empty() => Sizing::Unknown("the instance has no type".to_owned()),
        None => Sizing::Unknown(format!("instance type {} is not in the catalog", Quoted(name))),
    }
}

fn both(resources: &Value) -> Option<(&Value, &Value)> {
    let there = |name: &str| resources.get(name).filter(|v| !v.is_null());
    there("cpu").zip(there("memory"))
}

fn sum(given: &[(&Value, &Value)]) -> Sizing {
    let add = |sum: i64, next: Result<i64, BadQuantity>, what: &str| {
        let next =
            next.map_err(|BadQuantity(text)| format!("{what} {} is not a valid quantity", Quoted(&text)))?;
        sum.checked_add(next).ok_or_else(|| format!("{what} is too large to count"))
    };
    let total = given.iter().try_fold((0, 0), |(cpu, memory), (c, m)| {
        Ok((add(cpu, quantity::millicores(c), "cpu")?, add(memory, quantity::bytes(m), "memory")?))
    });
    match total {
        Ok((millicores, bytes)) => {
            const MEBIBYTE: i64 = 1 << 20;
            let mebibytes = bytes / MEBIBYTE + i64::from(bytes % MEBIBYTE != 0);
            Sizing::Known { millicores, mebibytes }
        }
        Err(why) => Sizing::Unknown(why),
    }
}
