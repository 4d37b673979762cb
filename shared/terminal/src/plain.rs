//! Text of others, which is not to steer a terminal.

use std::borrow::Cow;
use std::fmt::Write;

/// The text with every character escaped that a terminal acts on, or that turns the direction of what follows: a message
/// of a server can neither draw nor hide anything, and stays on its line.
pub fn plain(text: &str) -> Cow<'_, str> {
    escaped(text, steers)
}

/// The same for a text of several lines: their ends stay.
pub fn plain_lines(text: &str) -> Cow<'_, str> {
    escaped(text, |character| character != '\n' && steers(character))
}

fn escaped(text: &str, is_active: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&is_active) {
        return Cow::Borrowed(text);
    }
    let mut plain = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        if is_active(character) {
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
        assert_eq!(plain_lines("one\r\n\u{1b}[31mtwo"), "one\\u{d}\n\\u{1b}[31mtwo");
        assert!(matches!(plain_lines("one\ntwo"), Cow::Borrowed(_)));
    }
}
