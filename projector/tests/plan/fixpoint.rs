//! I7, P8: against a server that prunes and defaults as it likes, plans come to rest, and rest is kept:
//! nothing is written for what is right, also when all memory of earlier writes is lost.

use std::sync::Arc;

use crate::plan::world::Observed;
use crate::plan::world::{Decision, plan};
use fedhub_cache::ServerNormalization;
use fedhub_core::object::{Object, ObjectView, set_field};
use fedhub_planes::{Write, WriteMode};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use serde_json::{Value, json};

use crate::plan::arbitrary::worlds;
use crate::plan::support::*;

/// What a schema does to `spec` and `status`.
#[derive(Clone, Copy, Debug)]
struct Schema {
    prunes: bool,
    defaults: bool,
    /// Conditions without a report yet, put in as soon as there is a status.
    conditions: bool,
    /// Conditions without a report yet, put in by a default of the whole status before there is one.
    status: bool,
}

impl Schema {
    fn apply(self, object: &mut Object) {
        for part in ["spec", "status"] {
            if let Some(fields) = object.data[part].as_object_mut() {
                if self.prunes {
                    fields.remove("odd");
                }
                if self.defaults && part == "spec" {
                    fields.entry("size").or_insert_with(|| json!("default"));
                    fields.entry("put").or_insert_with(|| json!("in"));
                }
            }
        }
        if self.status && object.data["status"].is_null() {
            set_field(object, "status", json!({}));
        }
        if self.conditions
            && object.data["status"].is_object()
            && object.data["status"]["conditions"].is_null()
        {
            object.data["status"]["conditions"] = defaults()["conditions"].clone();
        }
        for part in ["spec", "status"] {
            let value = object.data[part].clone();
            set_field(object, part, value);
        }
    }
}

/// The project plane: one projection, and how often it was really written or asked for a dry run.
struct Server {
    schema: Schema,
    version: u64,
    writes: usize,
    dry: usize,
}

impl Server {
    fn store(&mut self, mut object: Object) -> Object {
        self.version += 1;
        object.metadata.resource_version = Some(self.version.to_string());
        object
    }

    /// Performs a decision as the writer does; says whether there was one to perform.
    fn perform(&mut self, seen: &mut Observed) -> bool {
        match plan(seen) {
            Decision::Write(Write::Create(mut object)) => {
                let sent = object.spec().clone();
                set_field(&mut object, "status", Value::Null);
                object.metadata.uid = Some("made".to_owned());
                self.schema.apply(&mut object);
                seen.spec_normalization = Some(ServerNormalization::new(&sent, object.spec()));
                self.writes += 1;
                seen.projection = Some(Arc::new(self.store(*object)));
            }
            Decision::Write(Write::Replace { mut object, mode }) => {
                let sent = object.spec().clone();
                let before = seen.projection.clone().unwrap();
                set_field(&mut object, "status", before.status().clone());
                self.schema.apply(&mut object);
                seen.spec_normalization = Some(ServerNormalization::new(&sent, object.spec()));
                if mode == WriteMode::DryRunFirst {
                    self.dry += 1;
                }
                if mode == WriteMode::Direct || *object != *before {
                    self.writes += 1;
                    seen.projection = Some(Arc::new(self.store(*object)));
                }
            }
            Decision::Status(projection, write) => {
                let mut object = projection.as_ref().clone();
                set_field(&mut object, "status", write.status.clone());
                self.schema.apply(&mut object);
                seen.status_normalization = Some(ServerNormalization::new(&write.status, object.status()));
                if write.mode == WriteMode::DryRunFirst {
                    self.dry += 1;
                }
                if write.mode == WriteMode::Direct || object != *projection {
                    self.writes += 1;
                    seen.projection = Some(Arc::new(self.store(object)));
                }
            }
            _ => return false,
        }
        true
    }

    fn rest(&mut self, seen: &mut Observed) -> Result<(), TestCaseError> {
        for _ in 0..5 {
            if !self.perform(seen) {
                return Ok(());
            }
        }
        Err(TestCaseError::fail(format!("no rest: {:?}", plan(seen))))
    }
}

prop_compose! {
    fn schemas()(prunes in any::<bool>(), defaults in any::<bool>(), conditions in any::<bool>(), status in any::<bool>())
        -> Schema { Schema { prunes, defaults, conditions, status } }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, rng_seed: RngSeed::Fixed(1), ..ProptestConfig::with_cases(600) })]

    #[test]
    fn i7_p8_plans_come_to_rest_and_rest_is_kept_also_after_a_restart(world in worlds(), schema in schemas()) {
        let mut seen = Observed { live: None, ..world };
        let mut server = Server { schema, version: 10, writes: 0, dry: 0 };
        // What stands there went through the server's schema once, whoever wrote it.
        if let Some(projection) = seen.projection.take() {
            let mut stored = projection.as_ref().clone();
            schema.apply(&mut stored);
            seen.projection = Some(Arc::new(stored));
        }
        server.rest(&mut seen)?;
        prop_assert!(server.writes <= 2, "one write of the object, one of the status: {}", server.writes);
        let rested = plan(&seen);
        let writes = server.writes;
        prop_assert_eq!(plan(&seen), rested.clone());

        let mut restarted = Observed { spec_normalization: None, status_normalization: None, ..seen.clone() };
        let dry = server.dry;
        server.rest(&mut restarted)?;
        prop_assert_eq!(server.writes, writes, "a restart writes nothing");
        prop_assert!(server.dry - dry <= 2, "at most one dry run for each part");
        prop_assert_eq!(&restarted.projection, &seen.projection);
        prop_assert_eq!(plan(&Observed { live: None, ..restarted }), rested);
    }

    /// A manual edit of our keys is reverted, and what the server makes of it is left.
    #[test]
    fn p4_an_edit_by_hand_is_one_more_write_and_rest(schema in schemas(), edit in 0..6usize, has_report in any::<bool>()) {
        let mut seen = Observed { projection: None, ..seen() };
        bent(&mut seen.instance, |i| {
            i.data = json!({"spec": {"odd": 1}, "status": if has_report { reported() } else { Value::Null }});
        });
        let mut server = Server { schema, version: 10, writes: 0, dry: 0 };
        server.rest(&mut seen)?;
        let right = seen.projection.clone().unwrap();
        let writes = server.writes;
        bent(&mut seen.projection, |p| match edit {
            0 => p.data["spec"] = json!({"size": "edited"}),
            1 => p.metadata.labels = None,
            2 => p.metadata.annotations = None,
            3 => p.metadata.owner_references = None,
            4 if has_report => p.data["status"] = json!({"suspended": true}),
            4 => {}
            _ => (p.metadata.labels, p.metadata.annotations) = (None, None),
        });
        schema.apply(Arc::make_mut(seen.projection.as_mut().unwrap()));
        server.rest(&mut seen)?;
        let now = seen.projection.clone().unwrap();
        prop_assert_eq!(&now.data, &right.data);
        prop_assert_eq!(&now.metadata.labels, &right.metadata.labels);
        prop_assert_eq!(&now.metadata.annotations, &right.metadata.annotations);
        prop_assert_eq!(&now.metadata.owner_references, &right.metadata.owner_references);
        prop_assert!(server.writes <= writes + 1);
    }
}
