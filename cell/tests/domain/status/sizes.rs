use fedhub_api::instance_types::Size;
use fedhub_cell::domain::quota::sizing::size;
use fedhub_core::object::{Kind, ObjectRef, ObjectView, bare, set_field};
use fedhub_core::quantity::{bytes, millicores};
use proptest::prelude::*;
use serde_json::{Value, json};

#[test]
fn quantities_are_read_exactly_and_rounded_up() {
    for (value, cpu) in [
        (json!(2), 2000),
        (json!("2"), 2000),
        (json!(0.5), 500),
        (json!("500m"), 500),
        (json!("+1.25"), 1250),
        (json!(".5"), 500),
        (json!("1."), 1000),
        (json!("1k"), 1_000_000),
        (json!("1K"), 1_000_000),
        (json!("1u"), 1),
        (json!("1n"), 1),
        (json!("0"), 0),
        (json!("0n"), 0),
        (json!("2e3"), 2_000_000),
        (json!("5E-1"), 500),
        (json!("0.1"), 100),
        (json!("1e-300"), 1),
        (json!("0e30000"), 0),
        (json!("1.000000000000000000000000000000000000000000"), 1000),
    ] {
        assert_eq!(millicores(&value), Ok(cpu), "{value}");
    }
    for (value, memory) in [
        (json!(1024), 1024),
        (json!("1Ki"), 1 << 10),
        (json!("1.5Mi"), 3 << 19),
        (json!("2Gi"), 2 << 30),
        (json!("1Ti"), 1 << 40),
        (json!("1Pi"), 1 << 50),
        (json!("1Ei"), 1 << 60),
        (json!("1k"), 1000),
        (json!("1M"), 1_000_000),
        (json!("1G"), 1_000_000_000),
        (json!("1T"), 1_000_000_000_000),
        (json!("1E"), 1_000_000_000_000_000_000),
        (json!("1500m"), 2),
        (json!("128e6"), 128_000_000),
    ] {
        assert_eq!(bytes(&value), Ok(memory), "{value}");
    }
}

#[test]
fn what_is_no_quantity_is_refused() {
    let bad = [
        "",
        "-1",
        "-0.5",
        ".",
        "m",
        "1.2.3",
        "1 Gi",
        " 1",
        "1gi",
        "1mi",
        "1GiB",
        "one",
        "1e",
        "0x10",
        "1Ee",
        "1e99999",
        "10E",
        "99999999999999999999999999999999999999999",
        "1e30",
        "++1",
        "+-1",
        "NaN",
        "1i",
    ];
    for text in bad {
        assert!(bytes(&json!(text)).is_err(), "{text:?}");
    }
    for value in [json!(null), json!(true), json!([1]), json!({}), json!(-1)] {
        assert!(millicores(&value).is_err(), "{value}");
    }
}

fn known(millicores: i64, mebibytes: i64) -> Size {
    Size { millicores, mebibytes }
}

/// Without a catalogue.
fn of(spec: &Value) -> Result<Size, String> {
    size(spec, |_| None::<ObjectRef>)
}

#[test]
fn w8_the_catalog_goes_before_the_built_in_type() {
    let of_type = |name: &str| json!({"runtime": {"resources": {"instanceType": name}}});
    let declared = |name: &str, cpu: &str, memory: &str| {
        let mut object = bare(Kind::InstanceType, "", name);
        set_field(&mut object, "spec", json!({"resources": {"cpu": cpu, "memory": memory}}));
        object
    };
    let catalog = [
        declared("d2", "2", "4Gi"),
        declared("d1-standard-2", "1500m", "3Gi"),
        declared("odd", "two", "4Gi"),
    ];
    let sized = |spec: &Value| {
        let get = |name: &str| catalog.iter().find(|type_| type_.name() == name).cloned();
        size(spec, |name| get(name).map(ObjectRef::new))
    };
    assert_eq!(sized(&of_type("d2")), Ok(known(2000, 4096)));
    // The same type under the name that an object cannot have.
    assert_eq!(sized(&of_type("datumcloud/d1-standard-2")), Ok(known(1500, 3072)));
    let odd = "instance type \"odd\": cpu \"two\" is not a valid quantity";
    assert_eq!(sized(&of_type("odd")), Err(odd.to_owned()));
    let absent = "instance type \"x-large\" is not in the cell";
    assert_eq!(sized(&of_type("x-large")), Err(absent.to_owned()));
}

/// Admission refuses limits and requests: what an object from before it, or past it, says makes it no
/// cheaper.
#[test]
fn c6_the_type_alone_sizes_an_instance() {
    let small = json!({"cpu": "1m", "memory": "1Mi"});
    let container = json!({"resources": {"limits": small, "requests": small}});
    for name in ["datumcloud/d1-standard-2", "d1-standard-2", "datumcloud-d1-standard-2"] {
        let resources = json!({"instanceType": name, "requests": small});
        let spec = json!({"runtime": {"sandbox": {"containers": [container]}, "resources": resources}});
        assert_eq!(of(&spec), Ok(known(1000, 2048)), "{name}");
    }
    assert_eq!(of(&json!({})), Ok(known(1000, 2048)), "the default");
    let resources = json!({"instanceType": "x-large", "requests": small});
    assert!(of(&json!({"runtime": {"resources": resources}})).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(500) })]

    #[test]
    fn any_text_is_read_or_refused_and_never_breaks(text in r"[-+]?[0-9.]{0,44}([eE][-+]?[0-9]{0,6}|[a-zA-Z]{0,3})") {
        let cpu = millicores(&json!(text));
        let memory = bytes(&json!(text));
        prop_assert!(cpu.is_err() || cpu.as_ref().unwrap() >= &0);
        if let (Ok(cpu), Ok(memory)) = (cpu, memory) {
            prop_assert!(i128::from(cpu) <= i128::from(memory) * 1000 && memory <= cpu);
        }
    }

    #[test]
    fn milli_and_plain_agree(n in 0..1_000_000_i64) {
        let plain = format!("{}.{:03}", n / 1000, n % 1000);
        prop_assert_eq!(millicores(&json!(plain)), millicores(&json!(format!("{n}m"))));
    }
}
