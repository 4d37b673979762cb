//! Text of others, which is not to steer a terminal.

use std::borrow::Cow;
use std::fmt::Write;

/// The text with every character escaped that a terminal acts on, or that turns the direction of what follows: a message
/// of a server can neither draw nor hide anything.
pub fn plain(text: &str) -> Cow<'_, str> {
    if !text.contains(steers) {
        return Cow::Borrowed(text);
    }
    let mut plain = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        if steers(character) {
            // Writing to a string does not fail.
            let _written = write!(plain, "{}", character.escape_unicode());
        } else {
            plain.push(character);
        }
    }
    Cow::Owned(plain)
}

fn steers(character: char) -> bool {
    character.is_control() || matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_others_steers_no_terminal() {
        assert_eq!(plain("\u{1b}[2Jdone\r\n"), "\\u{1b}[2Jdone\\u{d}\\u{a}");
        assert_eq!(plain("a\u{9b}31m\u{7f}\u{202e}b"), "a\\u{9b}31m\\u{7f}\\u{202e}b");
        assert!(matches!(plain("見つかりません é"), Cow::Borrowed(_)));
    }
}
