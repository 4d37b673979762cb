//! The limits of what conditions and Events say (specification, section 6).

use std::borrow::Cow;
use std::fmt;

/// The longest message of a condition or an Event, in bytes: what a server takes as the note of an Event.
pub const MESSAGE_MAX: usize = 1024;

/// The longest piece of user input in a message, in characters.
pub const EXCERPT_MAX: usize = 64;

/// The message, cut to [`MESSAGE_MAX`]. Conditions and Events apply this; their callers need not.
pub fn bounded(message: &str) -> &str {
    &message[..message.floor_char_boundary(MESSAGE_MAX)]
}

/// User input as a message may contain it: at most [`EXCERPT_MAX`] characters, the last one an ellipsis where
/// the rest was cut off.
pub fn excerpt(text: &str) -> Cow<'_, str> {
    shortened(text, EXCERPT_MAX)
}

/// A text of at most `longest` characters, the last one an ellipsis where the rest was cut off.
pub fn shortened(text: &str, longest: usize) -> Cow<'_, str> {
    match text.char_indices().nth(longest) {
        None => Cow::Borrowed(text),
        Some(_) => Cow::Owned(text.chars().take(longest - 1).chain(['…']).collect()),
    }
}

/// User input in quotation marks, as [`excerpt`] cuts it.
pub struct Quoted<'a>(pub &'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&excerpt(self.0), f)
    }
}

/// The most names that a message lists.
const MOST_NAMED: usize = 8;

/// Lists names for a message, the rest of many by their number; `None` if there are none.
pub fn named(names: &[String]) -> Option<String> {
    let rest = names.len().saturating_sub(MOST_NAMED);
    let listed = names[..names.len() - rest].join(", ");
    match (names, rest) {
        ([], _) => None,
        (_, 0) => Some(listed),
        _ => Some(format!("{listed} and {rest} more")),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn i11_user_input_is_cut_to_64_characters() {
        assert_eq!(Quoted("New York").to_string(), "\"New York\"");
        assert_eq!(excerpt(&"x".repeat(64)), "x".repeat(64));
        assert_eq!(excerpt(&"ü".repeat(65)), format!("{}…", "ü".repeat(63)));
    }

    #[test]
    fn of_many_names_the_first_are_listed() {
        let names = |count: usize| named(&(1..=count).map(|n| n.to_string()).collect::<Vec<_>>());
        assert_eq!(names(0), None);
        assert_eq!(names(1).as_deref(), Some("1"));
        assert_eq!(names(8).as_deref(), Some("1, 2, 3, 4, 5, 6, 7, 8"));
        assert_eq!(names(10).as_deref(), Some("1, 2, 3, 4, 5, 6, 7, 8 and 2 more"));
    }

    proptest! {
        #[test]
        fn i11_no_message_is_longer_than_its_limit(text in "\\PC{0,600}") {
            prop_assert!(bounded(&text).len() <= MESSAGE_MAX && text.starts_with(bounded(&text)));
            prop_assert!(excerpt(&text).chars().count() <= EXCERPT_MAX);
        }
    }
}
