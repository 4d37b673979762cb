//! What a Workload says of the type of its instances, where the catalogue has it and it is not Active any
//! more (W8).

use fedhub_api::facts::placed::says;
use fedhub_api::facts::workload::{TYPE_CONDITIONS, told};
use fedhub_api::{InstanceTypePhase, instance_types};
use fedhub_core::message::Quoted;
use serde_json::Value;

use crate::instance_types::Catalog;

/// The state of a type in the catalogue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TypeState {
    /// The type is Active, or the catalogue has none of that name.
    InOrder,
    /// It is Deprecated.
    Deprecated(TypeNotice),
    /// It is Disabled.
    Disabled(TypeNotice),
}

/// The name of a type and of its replacement, for messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypeNotice {
    name: String,
    replacement: Option<String>,
}

impl TypeState {
    /// Returns the state of the type `name`; `None` while the catalogue is not known.
    pub fn from_catalog(catalog: Option<&Catalog>, name: &str) -> Option<Self> {
        let catalog = catalog.filter(|catalog| catalog.is_known())?;
        let found = instance_types::find(name, |name| catalog.get(name));
        let words = || {
            let replacement = found.as_deref().and_then(instance_types::replacement).map(str::to_owned);
            TypeNotice { name: name.to_owned(), replacement }
        };
        Some(match found.as_deref().and_then(instance_types::phase) {
            None | Some(InstanceTypePhase::Active) => Self::InOrder,
            Some(InstanceTypePhase::Deprecated) => Self::Deprecated(words()),
            Some(InstanceTypePhase::Disabled) => Self::Disabled(words()),
        })
    }

    /// The message of each of [`TYPE_CONDITIONS`] that stands.
    pub fn messages(&self) -> [Option<String>; 2] {
        let instead = |words: &TypeNotice, said: &str| {
            let use_it = words.replacement.as_deref().map(|name| format!(": use {} instead", Quoted(name)));
            format!("Instance type {} is {said}{}", Quoted(&words.name), use_it.unwrap_or_default())
        };
        match self {
            Self::InOrder => [None, None],
            Self::Deprecated(words) => [Some(instead(words, "deprecated")), None],
            Self::Disabled(words) => {
                [None, Some(instead(words, "disabled, and new templates cannot have it"))]
            }
        }
    }

    /// The conditions as [`fedhub_api::facts::workload::type_conditions`] shows them.
    pub fn comparable(&self, generation: i64) -> Value {
        TYPE_CONDITIONS
            .iter()
            .zip(self.messages())
            .map(|(kind, message)| {
                message.map_or(Value::Null, |message| {
                    told("True", says(kind.as_str(), &message), Some(generation))
                })
            })
            .collect()
    }
}
