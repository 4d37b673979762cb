//! What JSON takes: text on its way, memory once it is decoded. One pass over bytes as they come, of which
//! nothing is held.

pub mod lexer;

use self::lexer::{Lexer, Token};

/// The approximate memory of a JSON map besides its content: a node of its tree.
const MAP: usize = 640;
/// The memory of a JSON value besides its text.
const VALUE: usize = 48;
/// How many bytes of memory may be needed for one byte of the limit on an object's text: maps of one short
/// field each take fifty times their text.
const EXPANSION: usize = 16;

/// Bytes of text, and of memory.
#[derive(Clone, Copy, Debug, Default)]
pub struct Weight {
    text: usize,
    memory: usize,
}

impl Weight {
    /// Adds a token of `length` bytes.
    pub fn add(&mut self, token: Token, length: usize) {
        let structure = match token {
            Token::Open => MAP,
            Token::Comma | Token::Colon => VALUE,
            _ => 0,
        };
        self.text += length;
        self.memory += length + structure;
    }

    /// Whether it takes memory out of proportion to that limit on its text.
    pub fn is_heavy(self, limit: usize) -> bool {
        self.memory > limit.saturating_mul(EXPANSION)
    }

    /// Whether its text or its memory is over the limit.
    pub fn is_over(self, limit: usize) -> bool {
        self.text > limit || self.is_heavy(limit)
    }

    /// Returns about how many bytes of memory the text takes once it is decoded.
    pub fn memory(self) -> usize {
        self.memory
    }

    /// Bytes of its text, or what it takes in memory where that is out of proportion.
    pub fn size(self) -> usize {
        self.text.max(self.memory / EXPANSION)
    }
}

/// Weighs JSON while it arrives, and holds nothing of it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Scale {
    lexer: Lexer,
    weight: Weight,
}

impl Scale {
    /// The next bytes come to it.
    pub fn add(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let (length, token) = self.lexer.next(bytes);
            if token != Token::Space {
                self.weight.add(token, length);
            }
            bytes = bytes.get(length..).unwrap_or_default();
        }
    }

    /// The weight of all that came.
    pub fn weight(&self) -> Weight {
        self.weight
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i8_maps_of_one_short_field_weigh_what_they_take_however_they_arrive() {
        let text = format!("[{}{{\"a\":1}}]", "{\"a\":1},".repeat(1000));
        let of = |chunk: usize| {
            let mut scale = Scale::default();
            text.as_bytes().chunks(chunk).for_each(|bytes| scale.add(bytes));
            scale.weight()
        };
        for chunk in [1, 3, 64, text.len()] {
            assert_eq!(of(chunk).memory(), of(text.len()).memory(), "{chunk}");
            assert!(of(chunk).memory() > 50 * text.len(), "{}", of(chunk).memory());
        }
    }
}
