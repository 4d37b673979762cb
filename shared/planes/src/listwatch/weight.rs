//! What an object takes: text on its way, memory once it is decoded.

use super::lexer::Token;

/// What a JSON map takes in memory beside its content, about: a node of its tree.
const MAP: usize = 640;
/// What a JSON value takes, beside its text.
const VALUE: usize = 48;
/// How many bytes of memory may be needed for one byte of the limit on an object's text: maps of one short field each
/// take fifty times their text.
const EXPANSION: usize = 16;

/// Bytes of text, and of memory.
#[derive(Clone, Copy, Debug, Default)]
pub struct Weight {
    text: usize,
    memory: usize,
}

impl Weight {
    /// So many bytes of a token come to it.
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

    /// Bytes of its text, or what it takes in memory where that is out of proportion.
    pub fn size(self) -> usize {
        self.text.max(self.memory / EXPANSION)
    }
}
