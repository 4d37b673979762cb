//! Names on the command line: they become parts of paths, and are checked before anything is sent.

use fedhub_core::names::{DNS_LABEL_RULE, OBJECT_NAME_RULE, is_dns_label, is_object_name};

/// The name of an object that is there, or may be.
pub fn existing(text: &str) -> Result<String, String> {
    checked(text, is_object_name, OBJECT_NAME_RULE)
}

/// The name of a workload that may be made: admission takes no other.
pub fn workload(text: &str) -> Result<String, String> {
    checked(text, is_dns_label, DNS_LABEL_RULE)
}

fn checked(text: &str, is_valid: fn(&str) -> bool, rule: &str) -> Result<String, String> {
    if is_valid(text) { Ok(text.to_owned()) } else { Err(rule.to_owned()) }
}
