//! What objects come in: a page of a list, or the lines of a watch. Objects are cut out of it one by one.

use serde::Deserialize;
use serde::de::Error as _;

use super::object::{Cut, ObjectCutter};
use crate::transport::weight::lexer::{Lexer, Token};

/// Longest text that is kept beside objects: the metadata of a list, with the token of its next page.
const TEXT: usize = 64 << 10;

/// A part of an envelope.
#[derive(Debug)]
pub enum Piece {
    /// An object of a page.
    Item(Cut),
    /// The end of a page.
    Page(Page),
    /// A line of a watch.
    Event(String, Cut),
}

/// The metadata of a page.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Page {
    /// The beginning of the next page; empty if there is none.
    #[serde(rename = "continue", default)]
    pub next: Option<String>,
    /// The version that a watch goes on from.
    #[serde(default)]
    pub resource_version: Option<String>,
}

/// The position of the next byte in an envelope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    Start,
    Key,
    Value(Field),
    Items,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Field {
    /// Kept as text: `metadata` of a list, `type` of an event.
    Text,
    Items,
    Object,
    Other,
}

/// Cuts objects out of pages and events.
pub struct Opener {
    limit: usize,
    lexer: Lexer,
    at: At,
    depth: usize,
    in_key: bool,
    key: Vec<u8>,
    text: Vec<u8>,
    cutter: Option<Box<ObjectCutter>>,
    object: Option<Cut>,
}

impl Opener {
    /// Creates an opener whose objects may have `limit` bytes each.
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            lexer: Lexer::default(),
            at: At::Start,
            depth: 0,
            in_key: false,
            key: Vec::new(),
            text: Vec::new(),
            cutter: None,
            object: None,
        }
    }

    /// Bytes that are held now.
    pub fn held(&self) -> usize {
        let object = self.object.as_ref().map_or(0, |cut| cut.text.len());
        object + self.text.len() + self.cutter.as_ref().map_or(0, |cutter| cutter.held())
    }

    /// Consumes bytes. Returns how many of them were used, and the piece that they complete.
    pub fn push(&mut self, bytes: &[u8]) -> serde_json::Result<(usize, Option<Piece>)> {
        let mut used = 0;
        while used < bytes.len() {
            let rest = &bytes[used..];
            if let Some(cutter) = &mut self.cutter {
                let (length, cut) = cutter.push(rest);
                used += length;
                let Some(cut) = cut else { continue };
                self.cutter = None;
                if self.at == At::Items {
                    return Ok((used, Some(Piece::Item(cut))));
                }
                (self.object, self.at) = (Some(cut), At::Value(Field::Other));
                continue;
            }
            if rest[0] == b'{' && matches!(self.at, At::Items | At::Value(Field::Object)) {
                self.cutter = Some(Box::new(ObjectCutter::new(self.limit)));
                continue;
            }
            let (length, token) = self.lexer.next(rest);
            used += length;
            if token != Token::Space && self.token(token, &rest[..length])? {
                return Ok((used, Some(self.end()?)));
            }
        }
        Ok((used, None))
    }

    /// Returns whether it ends the envelope.
    fn token(&mut self, token: Token, slice: &[u8]) -> serde_json::Result<bool> {
        match (self.at, token) {
            (At::Start, Token::Open) if slice == b"{" => self.at = At::Key,
            (At::Key, Token::Close) => return Ok(true),
            (At::Key, Token::StringStart) => {
                self.key.clear();
                self.in_key = true;
            }
            (At::Key, Token::Text) if self.in_key && self.key.len() < TEXT => {
                self.key.extend_from_slice(slice);
            }
            (At::Key, Token::StringEnd) => {
                self.in_key = false;
                self.at = At::Value(match self.key.as_slice() {
                    b"metadata" | b"type" => Field::Text,
                    b"items" => Field::Items,
                    b"object" => Field::Object,
                    _ => Field::Other,
                });
            }
            (At::Key, Token::Comma) | (At::Value(_), Token::Colon) if self.depth == 0 => {}
            (At::Value(Field::Items), Token::Open) => self.at = At::Items,
            (At::Items, Token::Comma) => {}
            (At::Items, Token::Close) => self.at = At::Value(Field::Other),
            (At::Value(_), Token::Comma) if self.depth == 0 => self.at = At::Key,
            (At::Value(_), Token::Close) if self.depth == 0 => return Ok(true),
            (At::Value(field), token) => {
                match token {
                    Token::Open => self.depth += 1,
                    Token::Close => self.depth -= 1,
                    _ => {}
                }
                if field == Field::Text {
                    self.text.extend_from_slice(slice);
                }
            }
            _ => return Err(malformed("neither a list nor an event of a watch")),
        }
        if self.text.len() > TEXT {
            Err(malformed("what stands beside the objects is too long"))
        } else {
            Ok(false)
        }
    }

    fn end(&mut self) -> serde_json::Result<Piece> {
        let text = std::mem::take(&mut self.text);
        let object = self.object.take();
        *self = Self::new(self.limit);
        match object {
            Some(cut) => Ok(Piece::Event(serde_json::from_slice(&text)?, cut)),
            None => Ok(Piece::Page(serde_json::from_slice(&text)?)),
        }
    }
}

/// An error of text that is not as it should be.
pub fn malformed(words: &str) -> serde_json::Error {
    serde_json::Error::custom(words)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::object::Extent;
    use super::*;

    /// Returns the pieces of a stream, checked to be the same however it is cut into chunks.
    fn pieces(text: &str) -> Vec<String> {
        let mut all = [1, 2, 3, 5, 17, usize::MAX].into_iter().map(|chunk| {
            let mut opener = Opener::new(1000);
            let mut pieces = Vec::new();
            for mut bytes in text.as_bytes().chunks(chunk.min(text.len())) {
                while !bytes.is_empty() {
                    let (used, piece) = match opener.push(bytes) {
                        Ok(pushed) => pushed,
                        Err(error) => {
                            pieces.push(format!("error: {error}"));
                            return pieces;
                        }
                    };
                    bytes = &bytes[used..];
                    let name = |cut: &Cut| {
                        let object: Value = serde_json::from_slice(&cut.text).unwrap();
                        format!(
                            "{}{}",
                            object["metadata"]["name"],
                            if cut.extent == Extent::Whole { "" } else { "!" }
                        )
                    };
                    pieces.extend(piece.map(|piece| match piece {
                        Piece::Item(cut) => name(&cut),
                        Piece::Page(page) => format!("page {:?} {:?}", page.next, page.resource_version),
                        Piece::Event(kind, cut) => format!("{kind} {}", name(&cut)),
                    }));
                }
            }
            pieces
        });
        let first = all.next().unwrap();
        assert!(all.all(|next| next == first), "{first:?}");
        first
    }

    fn object(name: &str, padding: usize) -> Value {
        json!({"metadata": {"name": name}, "spec": {"items": [{"metadata": 1}], "x": "y".repeat(padding)}})
    }

    #[test]
    fn i8_objects_of_a_page_come_one_by_one_whatever_their_size() {
        let items = json!([object("a", 1), object("b", 100_000), object("c", 1)]);
        let metadata = r#"{"continue":"next","resourceVersion":"7","remainingItemCount":3}"#;
        let after = format!(
            "{{\"apiVersion\": \"v1\",\n\"items\": {items} , \"kind\":\"L\",\"metadata\":{metadata}}}\n"
        );
        let before = format!("{{\"kind\":\"L\",\"metadata\":{metadata},\"items\":{items}}}");
        for page in [after, before] {
            assert_eq!(pieces(&page), ["\"a\"", "\"b\"!", "\"c\"", "page Some(\"next\") Some(\"7\")"]);
        }
        for none in ["[]", "null", "[ ]"] {
            let page = format!("{{\"items\":{none},\"metadata\":{{\"resourceVersion\":\"7\"}}}}");
            assert_eq!(pieces(&page), ["page None Some(\"7\")"], "{none}");
        }
    }

    #[test]
    fn i8_a_line_of_a_watch_that_is_too_long_is_followed_by_the_next() {
        let line = |kind: &str, object: Value| format!("{}\n", json!({"type": kind, "object": object}));
        let lines = line("ADDED", object("a", 9000)) + &line("DELETED", object("b", 1)) + "\r\n";
        assert_eq!(pieces(&lines), ["ADDED \"a\"!", "DELETED \"b\""]);
        let other_order = r#"{"object":{"metadata":{"name":"a"}},"type":"ADDED"}"#;
        assert_eq!(pieces(other_order), ["ADDED \"a\""]);
    }

    #[test]
    fn what_is_neither_page_nor_event_is_an_error() {
        let long = format!("{{\"metadata\":{{\"continue\":\"{}\"}},\"items\":[]}}", "x".repeat(TEXT));
        for text in ["<html></html>", "[1]", "{\"items\":[1]}", "null", "{1}", "{}", "{\"items\":[]}", &long]
        {
            assert!(pieces(text).last().is_some_and(|last| last.starts_with("error")), "{text:.40}");
        }
    }
}
