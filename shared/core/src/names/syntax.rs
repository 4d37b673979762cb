//! What may be a name, a label or a UID, and how messages say so.

pub(super) const LABEL_VALUE_MAX: usize = 63;
pub(super) const UID_MAX: usize = 63;
const NAME_MAX: usize = 253;

/// Whether `value` may be the value of a label: at most 63 characters, letters, digits, `-`, `_` and `.`,
/// a letter or digit at both ends.
pub fn is_label_value(value: &str) -> bool {
    value.len() <= LABEL_VALUE_MAX
        && value.starts_with(|c: char| c.is_ascii_alphanumeric())
        && value.ends_with(|c: char| c.is_ascii_alphanumeric())
        && value.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))
}

/// Whether a text that a server or an object gives as a UID can be one (I14). API servers make UUIDs;
/// anything that keeps to this is harmless in a path, a patch, an annotation's key and an operator's
/// terminal.
pub fn is_uid(text: &str) -> bool {
    (1..=UID_MAX).contains(&text.len()) && text.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'-')
}

/// What [`is_uid`] asks for, as messages say it.
pub const UID_RULE: &str = "a UID has 1 to 63 letters, digits or '-'";

/// Whether a name that a server gives an object can be one segment of the path of a request, and nothing more
/// (I14).
pub fn is_path_segment(name: &str) -> bool {
    (1..=NAME_MAX).contains(&name.len())
        && !matches!(name, "." | "..")
        && name.bytes().all(|c| c.is_ascii_alphanumeric() || matches!(c, b'-' | b'.' | b'_' | b':'))
}

/// Whether `name` may name a Kubernetes object (a DNS-1123 subdomain).
pub fn is_object_name(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= NAME_MAX
        && name.split('.').all(|part| {
            part.starts_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit())
                && part.ends_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit())
                && part.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
        })
}

/// What [`is_label_value`] asks for, as messages say it.
pub const LABEL_VALUE_RULE: &str =
    "it must have 1 to 63 letters, digits, '-', '_' or '.', and begin and end with a letter or digit";

/// Whether `name` may be one label of a DNS name (DNS-1123).
pub fn is_dns_label(name: &str) -> bool {
    name.len() <= LABEL_VALUE_MAX && !name.contains('.') && is_object_name(name)
}

/// What [`is_dns_label`] asks for, as messages say it.
pub const DNS_LABEL_RULE: &str =
    "it must have 1 to 63 lower-case letters, digits or '-', and begin and end with a letter or digit";

/// What [`is_object_name`] asks for, as messages say it.
pub const OBJECT_NAME_RULE: &str = "it must have 1 to 253 lower-case letters, digits, '-' or '.', and each part begin and end with a letter or digit";

/// The most characters that the name of an object of a kind may have, so that Karmada can bring it to a cell.
/// Two objects are named after it: its binding, see [`super::binding_name`], and its Work, with a hash of 32
/// bits in decimal digits.
pub const fn travelling_name_max(kind: &str) -> usize {
    const WORK: usize = "-4294967295".len();
    let binding = "-".len() + kind.len();
    NAME_MAX - if binding > WORK { binding } else { WORK }
}

/// What [`travelling_name_max`] asks of the name of an `InstanceType`, as messages say it.
pub const INSTANCE_TYPE_NAME_RULE: &str = "it must have at most 240 characters: with more it reaches no cell";
/// The `ConfigMap` that every cluster writes in each namespace itself: no copy of one can stand there.
pub(super) const ROOT_CA: &str = "kube-root-ca.crt";

/// Whether a template may refer to the `ConfigMap` or Secret of that name: whether a copy of it can reach a
/// cell (W5). `kind` is `ConfigMap` or `Secret`.
pub fn is_referenceable(kind: &str, name: &str) -> bool {
    name.len() <= travelling_name_max(kind) && (kind, name) != ("ConfigMap", ROOT_CA)
}

/// What [`is_referenceable`] asks for, as messages say it.
pub const REFERENCE_RULE: &str = "no copy of it can reach a cell: the name must have at most 242 characters, and the ConfigMap kube-root-ca.crt is each cluster's own";
