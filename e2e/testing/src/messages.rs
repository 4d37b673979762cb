//! Snapshots of the messages of a crate, so that a reader finds and judges all of them in one place.

use std::fmt::{Display, Write};

/// The messages of a crate, in sections, as [`assert_messages`](crate::assert_messages) compares them.
#[derive(Debug, Default)]
pub struct Messages(String);

impl Messages {
    /// Adds a section with a message for each label.
    pub fn section<L: Display, M: Display>(
        &mut self,
        title: &str,
        messages: impl IntoIterator<Item = (L, M)>,
    ) -> &mut Self {
        let gap = if self.0.is_empty() { "" } else { "\n" };
        writeln!(self.0, "{gap}## {title}").unwrap();
        for (label, message) in messages {
            writeln!(self.0, "\n{label}").unwrap();
            for line in message.to_string().lines() {
                writeln!(self.0, "{}", format!("    {line}").trim_end()).unwrap();
            }
        }
        self
    }
}

impl Display for Messages {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// Compares [`Messages`] with `tests/snapshots/<name>.snap` of the calling crate. `make messages` accepts
/// what has changed.
#[macro_export]
macro_rules! assert_messages {
    ($name:literal, $messages:expr) => {
        $crate::insta::with_settings!({
            snapshot_path => concat!(env!("CARGO_MANIFEST_DIR"), "/tests/snapshots"),
            prepend_module_to_snapshot => false,
            omit_expression => true,
        }, {
            $crate::insta::assert_snapshot!($name, $messages.to_string());
        });
    };
}

/// A value for each variant of an enum. A variant without a value does not compile.
#[macro_export]
macro_rules! one_of_each {
    ($($pattern:pat => $value:expr),+ $(,)?) => {{
        let values = [$($value),+];
        for value in &values {
            match value { $($pattern => {})+ }
        }
        $(assert!(values.iter().any(|value| matches!(value, $pattern)), "{}", stringify!($pattern));)+
        values
    }};
}
