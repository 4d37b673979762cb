//! JSON cut into tokens while it arrives: of a stream of any length nothing has to be held to see its
//! structure.

use memchr::memchr2;

/// A token of JSON. Whether brackets and commas are where they belong is not checked: what is kept is parsed
/// later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Token {
    /// White space between tokens.
    Space,
    /// `{` or `[`.
    Open,
    /// `}` or `]`.
    Close,
    /// `,`
    Comma,
    /// `:`
    Colon,
    /// The quote that begins a string.
    StringStart,
    /// The quote that ends it.
    StringEnd,
    /// A part of a string, or of a number or literal.
    Text,
}

/// Cuts tokens. A token that the end of a chunk divides comes in parts.
#[derive(Clone, Copy, Debug, Default)]
pub struct Lexer {
    in_string: bool,
    escaped: bool,
}

impl Lexer {
    /// The token that `bytes` begin with, and its length; `bytes` must not be empty.
    pub fn next(&mut self, bytes: &[u8]) -> (usize, Token) {
        let run =
            |is_end: fn(u8) -> bool| bytes.iter().position(|b| is_end(*b)).unwrap_or(bytes.len()).max(1);
        let Some(&first) = bytes.first() else { return (0, Token::Space) };
        if self.in_string {
            if std::mem::take(&mut self.escaped) {
                return (1, Token::Text);
            }
            return match first {
                b'"' => {
                    self.in_string = false;
                    (1, Token::StringEnd)
                }
                b'\\' => {
                    self.escaped = true;
                    (1, Token::Text)
                }
                _ => (memchr2(b'"', b'\\', bytes).unwrap_or(bytes.len()), Token::Text),
            };
        }
        match first {
            b'"' => {
                self.in_string = true;
                (1, Token::StringStart)
            }
            b'{' | b'[' => (1, Token::Open),
            b'}' | b']' => (1, Token::Close),
            b',' => (1, Token::Comma),
            b':' => (1, Token::Colon),
            b' ' | b'\t' | b'\r' | b'\n' => (run(|b| !b.is_ascii_whitespace()), Token::Space),
            _ => (
                run(|b| {
                    b.is_ascii_whitespace() || matches!(b, b'"' | b'{' | b'[' | b'}' | b']' | b',' | b':')
                }),
                Token::Text,
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text less white space between tokens, however it is cut into chunks.
    fn squeezed(text: &str, chunk: usize) -> (String, usize) {
        let mut lexer = Lexer::default();
        let mut out = Vec::new();
        let mut opens = 0;
        for mut bytes in text.as_bytes().chunks(chunk) {
            while !bytes.is_empty() {
                let (length, token) = lexer.next(bytes);
                if token != Token::Space {
                    out.extend_from_slice(&bytes[..length]);
                }
                opens += usize::from(token == Token::Open);
                bytes = &bytes[length..];
            }
        }
        (String::from_utf8(out).unwrap(), opens)
    }

    #[test]
    fn structure_is_seen_wherever_the_chunks_end() {
        let text = " {\"a\\\\\" : [1, -2.5e3 ,true], \"{[\\\"\": {\"ü\" :null }}\n";
        for chunk in 1..text.len() {
            assert_eq!(
                squeezed(text, chunk),
                ("{\"a\\\\\":[1,-2.5e3,true],\"{[\\\"\":{\"ü\":null}}".to_owned(), 3),
                "{chunk}"
            );
        }
    }
}
