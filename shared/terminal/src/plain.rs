//! Text of others, which is not to steer a terminal.
//!
//! Decides I15.

use std::borrow::Cow;
use std::fmt::Write;

/// The text with every character escaped that a terminal acts on, or that turns the direction of what
/// follows: a message of a server can neither draw nor hide anything, and stays on its line.
pub fn plain(text: &str) -> Cow<'_, str> {
    escaped(text, steers)
}

/// Like [`plain`], but for a text of several lines, whose line breaks are kept.
pub fn plain_lines(text: &str) -> Cow<'_, str> {
    escaped(text, |character| character != '\n' && steers(character))
}

/// A text of several lines in which nothing steers a terminal but `own`, the sequences that paint and stop.
pub(crate) fn painted_lines<'a>(text: &'a str, own: &[&'static str]) -> Cow<'a, str> {
    painted(text, own, plain_lines)
}

/// A text of one line, such as of a log, in which nothing steers a terminal but `own`; line breaks are
/// escaped.
pub fn painted_line<'a>(text: &'a str, own: &[&'static str]) -> Cow<'a, str> {
    painted(text, own, plain)
}

fn painted<'a>(text: &'a str, own: &[&'static str], plain: fn(&str) -> Cow<'_, str>) -> Cow<'a, str> {
    if !text.contains('\u{1b}') {
        return plain(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    let mut rest = text;
    while let Some(at) = rest.find('\u{1b}') {
        let (before, from) = rest.split_at(at);
        shown.push_str(&plain(before));
        if let Some(sequence) = own.iter().find(|sequence| from.starts_with(**sequence)) {
            shown.push_str(sequence);
            rest = &from[sequence.len()..];
        } else {
            shown.push_str("\\u{1b}");
            rest = &from['\u{1b}'.len_utf8()..];
        }
    }
    shown.push_str(&plain(rest));
    Cow::Owned(shown)
}

/// JSON with the escapes of JSON for what steers a terminal. Outside of its strings, where alone an escape
/// may stand, it has nothing of that but the ends of its lines.
pub fn plain_json(json: &str) -> Cow<'_, str> {
    let is_active = |character| character != '\n' && steers(character);
    if !json.contains(is_active) {
        return Cow::Borrowed(json);
    }
    let mut plain = String::with_capacity(json.len() + 16);
    for character in json.chars() {
        if is_active(character) {
            // Each is of the basic plane, so that it is one unit. Writing to a string does not fail.
            let _written = write!(plain, "\\u{:04x}", u32::from(character));
        } else {
            plain.push(character);
        }
    }
    Cow::Owned(plain)
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
    character.is_control() || turns(character) || matches!(character, '\u{2028}' | '\u{2029}')
}

/// Whether a character changes the direction of the text around it, so that it may be read as what it is not.
pub fn turns(character: char) -> bool {
    matches!(character, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn i15_text_of_others_steers_no_terminal() {
        assert_eq!(plain("\u{1b}[2Jdone\r\n"), "\\u{1b}[2Jdone\\u{d}\\u{a}");
        assert_eq!(plain("a\u{9b}31m\u{7f}\u{202e}b"), "a\\u{9b}31m\\u{7f}\\u{202e}b");
        assert_eq!(plain("\u{61c}\u{200f}\u{2066}\u{2028}"), "\\u{61c}\\u{200f}\\u{2066}\\u{2028}");
        assert!(matches!(plain("見つかりません é"), Cow::Borrowed(_)));
        assert_eq!(plain_lines("one\r\n\u{1b}[31mtwo"), "one\\u{d}\n\\u{1b}[31mtwo");
        assert!(matches!(plain_lines("one\ntwo"), Cow::Borrowed(_)));
    }

    #[test]
    fn i15_of_what_a_program_painted_its_own_colours_alone_stay() {
        let painted = "\u{1b}[31mred\u{1b}[0m\n\u{1b}[32\u{1b}]52;c;eA==\u{7}\u{202e}";
        let shown = "\u{1b}[31mred\u{1b}[0m\n\\u{1b}[32\\u{1b}]52;c;eA==\\u{7}\\u{202e}";
        let own = ["\u{1b}[31m", "\u{1b}[0m"];
        assert_eq!(painted_lines(painted, &own), shown);
        assert!(matches!(painted_lines("one\ntwo", &own), Cow::Borrowed(_)));
        assert_eq!(painted_line("\u{1b}[31mred\u{1b}[0m\nINFO", &own), "\u{1b}[31mred\u{1b}[0m\\u{a}INFO");
        assert!(matches!(painted_line("one", &own), Cow::Borrowed(_)));
    }

    #[test]
    fn i15_json_says_the_same_without_steering_a_terminal() {
        let value = json!({"a\u{9b}\u{202e}": ["\u{7f}\u{1b}\n\u{2028}", "見"]});
        let text = format!("{value:#}");
        let plain = plain_json(&text);
        assert!(!plain.contains(|it| it != '\n' && steers(it)), "{plain}");
        assert_eq!(serde_json::from_str::<Value>(&plain).unwrap(), value);
    }
}
