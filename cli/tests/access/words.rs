//! The sentences.

use fedhub_cli::access::state::{Access, State};
use fedhub_cli::access::words::Reader;
use fedhub_testing::{Messages, assert_messages};
use jiff::{SignedDuration, Timestamp};
use strum::VariantArray;

fn reader(command: &dyn Fn(&str) -> String, now: Timestamp) -> Reader<'_> {
    Reader { project: "project \"shop\"", command, now }
}

fn access(state: State, seconds: i64, now: Timestamp) -> Access {
    let has_one = !matches!(state, State::CatalogUnavailable | State::NotRequested);
    let at = Some(now - SignedDuration::from_secs(seconds)).filter(|_| has_one);
    Access {
        message: Some("Said the platform.".to_owned()).filter(|_| has_one && state != State::Processing),
        requested: at,
        entitled: at.filter(|_| matches!(state, State::Active | State::Suspended | State::Revoked)),
        entitlement: at.map(|_| "compute-datumapis-com".to_owned()),
        ..Access::without(state)
    }
}

#[test]
fn access_reads_well() {
    let now = Timestamp::from_second(1_000_000).unwrap();
    let command = |rest: &str| format!("datumctl compute {rest}");
    let reader = reader(&command, now);
    let cases = || {
        let each = State::VARIANTS.iter().map(|state| (state.to_string(), access(*state, 30, now)));
        each.chain([("Processing, older than two minutes".to_owned(), access(State::Processing, 2_000, now))])
    };
    let told = cases().map(|(label, access)| (label, reader.told(&access)));
    let stopped = cases().map(|(label, access)| {
        let problem = reader.stopped(&access);
        (label, format!("{}\nexit code {}", problem.text(false), problem.exit.code()))
    });
    let mut messages = Messages::default();
    assert_messages!("access", messages.section("`access`", told).section("Before another command", stopped));
}

/// Users do not learn the names of objects.
#[test]
fn no_sentence_names_an_object() {
    let now = Timestamp::from_second(1_000_000).unwrap();
    let reader = reader(&|rest| format!("datumctl compute {rest}"), now);
    for state in State::VARIANTS {
        let access = access(*state, 30, now);
        let text = format!("{}{}", reader.told(&access), reader.stopped(&access).text(true)).to_lowercase();
        for name in ["compute-datumapis-com", "datumapis.com", "miloapis", "entitlement"] {
            assert!(!text.contains(name), "{state}: {text}");
        }
    }
}
