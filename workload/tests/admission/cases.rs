//! The cases of the suite `admission`, without planes: the same words.

use fedhub_workload::admission::{Fault, Kind, Types, defaults};
use serde_json::Value;

use crate::admission::fixtures::{judged, object};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

fn apply(patch: &Value, object: &mut Value) {
    let patch: json_patch::Patch = serde_json::from_value(patch.clone()).unwrap();
    json_patch::patch(object, &patch).unwrap();
}

/// Those that the schema refuses have their words from the API server, and are not here.
#[test]
fn w4_the_suites_cases_are_answered_with_its_words() {
    let cases = std::fs::read_to_string(format!("{ROOT}/e2e/suites/admission/cases.txt")).unwrap();
    let lines = cases.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    let mut seen = 0;
    let mut wrong = Vec::new();
    for line in lines {
        let [what, sample, patch, expected] =
            line.splitn(4, '|').map(str::trim).collect::<Vec<_>>().try_into().unwrap();
        let sample = std::fs::read_to_string(format!("{ROOT}/deploy/samples/{sample}.yaml")).unwrap();
        let mut changed: Value = serde_saphyr::from_str(&sample).unwrap();
        apply(&serde_json::from_str(patch).unwrap(), &mut changed);
        let kind = Kind::ALL.into_iter().find(|kind| changed["kind"] == kind.name()).unwrap();
        let completed = defaults::patch(kind, Types::BuiltIn, None, &object(&changed));
        apply(&completed.into(), &mut changed);
        let found: Vec<_> = judged(kind, None, &changed).faults.iter().map(Fault::to_string).collect();
        let holds = match expected {
            "-" => found.is_empty(),
            words => found.iter().any(|fault| fault.contains(words)),
        };
        if !holds {
            wrong.push(format!("{what}: {found:?}"));
        }
        seen += 1;
    }
    assert!(wrong.is_empty() && seen >= 70, "of {seen}: {wrong:#?}");
}
