//! Words and lines.

use unicode_width::UnicodeWidthStr;

/// The words of a text in lines of at most `width` columns of a terminal, every line behind `indent` spaces;
/// one line where there is no `width`. A word is never cut.
pub fn wrapped(text: &str, indent: usize, width: Option<usize>) -> String {
    let room = width.map_or(usize::MAX, |width| width.saturating_sub(indent).max(1));
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.width() + 1 + word.width() <= room => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    let margin = " ".repeat(indent);
    lines.iter().map(|line| format!("{margin}{line}")).collect::<Vec<_>>().join("\n")
}

/// `a, b and c`.
pub fn listed(items: &[&str]) -> String {
    match items {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// A reason in CamelCase as words: `NetworkNotFound` is `network not found`.
pub fn spaced(reason: &str) -> String {
    let mut words = String::new();
    for (at, character) in reason.char_indices() {
        let begins = character.is_uppercase()
            && (reason[at + character.len_utf8()..].starts_with(char::is_lowercase)
                || reason[..at].ends_with(char::is_lowercase));
        if at > 0 && begins {
            words.push(' ');
        }
        words.extend(character.to_lowercase());
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_wrapped_at_the_terminals_width() {
        assert_eq!(wrapped("one two three", 2, Some(9)), "  one two\n  three");
        assert_eq!(wrapped("one two three", 2, None), "  one two three");
        assert_eq!(wrapped("東京 大阪 名古屋", 0, Some(9)), "東京 大阪\n名古屋");
        assert_eq!(wrapped("https://a.long.example/path", 1, Some(8)), " https://a.long.example/path");
        assert_eq!(wrapped("", 3, Some(8)), "");
    }

    #[test]
    fn a_reason_is_said_in_words() {
        for (reason, words) in [
            ("NetworkNotFound", "network not found"),
            ("QuotaProjectIDUnresolvable", "quota project id unresolvable"),
            ("Pending", "pending"),
            ("", ""),
        ] {
            assert_eq!(spaced(reason), words);
        }
        assert_eq!(listed(&["a"]), "a");
        assert_eq!(listed(&["a", "b", "c"]), "a, b and c");
    }
}
