//! One object cut out of the stream that it comes in, in bounded memory: `managedFields` are left out, and of
//! one that is over the limit no more is kept than what names it, and lets it be answered and deleted.

use crate::transport::weight::Weight;
use crate::transport::weight::lexer::{Lexer, Token};

/// Longest member that names an object.
const NAME: usize = 1024;

/// An object, as far as it is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cut {
    /// JSON: the object, without `managedFields`.
    pub text: Vec<u8>,
    /// Its size: bytes of text, its status and `managedFields` aside, or what it takes in memory where that
    /// is out of proportion.
    pub size: usize,
    /// Bytes of memory that what is kept takes once it is decoded, about.
    pub memory: usize,
    /// The part that is kept.
    pub extent: Extent,
}

/// How much of an object is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// The whole object, without a status that exceeds the limit.
    Whole,
    /// Its metadata and its status.
    Metadata,
    /// Its namespace, name, UID and resourceVersion.
    Names,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Section {
    /// `apiVersion` and `kind`.
    Kind,
    Metadata,
    Status,
    Other,
}

/// Cuts one object.
pub struct ObjectCutter {
    limit: usize,
    lexer: Lexer,
    depth: usize,
    extent: Extent,
    /// The members that are kept, by section, with commas between.
    parts: [Vec<u8>; 4],
    /// The member of the object that is under way.
    section: Option<Section>,
    /// The position in its part at which the current member of the metadata begins.
    inner: usize,
    /// A key is next, or under way, of the object or its metadata.
    expects_key: bool,
    in_key: bool,
    key: Vec<u8>,
    /// The depth of the member that is left out.
    skips: Option<usize>,
    status_left_out: bool,
    /// Members that name the object, with commas between.
    names: Vec<u8>,
    /// The weights of the object without its status, of its status, and of its metadata alone.
    weight: Weight,
    status_weight: Weight,
    metadata_weight: Weight,
}

impl ObjectCutter {
    /// Creates a cutter for an object of at most `limit` bytes.
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            lexer: Lexer::default(),
            depth: 0,
            extent: Extent::Whole,
            parts: Default::default(),
            section: None,
            inner: 0,
            expects_key: false,
            in_key: false,
            key: Vec::new(),
            skips: None,
            status_left_out: false,
            names: Vec::new(),
            weight: Weight::default(),
            status_weight: Weight::default(),
            metadata_weight: Weight::default(),
        }
    }

    /// Bytes that are held now.
    pub fn held(&self) -> usize {
        self.parts.iter().map(Vec::len).sum()
    }

    /// Consumes bytes. Returns how many of them belong to the object, and the object once it is complete.
    pub fn push(&mut self, bytes: &[u8]) -> (usize, Option<Cut>) {
        // Most tokens are inside of a member, and are kept or left out with it: those between `copied` and
        // `used`.
        let mut copied = 0;
        let mut used = 0;
        while used < bytes.len() {
            let (length, token) = self.lexer.next(&bytes[used..]);
            if token != Token::Space && self.is_inside() {
                self.count(token, length);
                self.depth = match token {
                    Token::Open => self.depth + 1,
                    Token::Close => self.depth - 1,
                    _ => self.depth,
                };
                used += length;
                continue;
            }
            self.inside(&bytes[copied..used]);
            let slice = &bytes[used..used + length];
            used += length;
            copied = used;
            if token == Token::Space {
                continue;
            }
            self.token(token, slice);
            if self.depth == 0 && token != Token::StringStart {
                return (used, Some(self.end()));
            }
        }
        self.inside(&bytes[copied..used]);
        (used, None)
    }

    /// Whether members are not distinguished here, but belong to one that is.
    fn is_inside(&self) -> bool {
        self.depth > 1 && !self.is_tracked()
    }

    /// Consumes tokens inside of a member.
    fn inside(&mut self, slice: &[u8]) {
        if !slice.is_empty() {
            self.keep(slice);
            self.fit();
        }
    }

    /// Whether members are distinguished here: those of the object and those of its metadata.
    fn is_tracked(&self) -> bool {
        self.depth == 1 || (self.depth == 2 && self.section == Some(Section::Metadata))
    }

    fn token(&mut self, token: Token, slice: &[u8]) {
        self.count(token, slice.len());
        match token {
            Token::Open => {
                self.keep(slice);
                self.depth += 1;
                self.expects_key = self.is_tracked();
                self.inner = if self.depth == 2 { self.part().len() } else { self.inner };
            }
            Token::Close => {
                self.member_ends();
                self.depth = self.depth.saturating_sub(1);
                self.keep(slice);
            }
            Token::Comma if self.is_tracked() => {
                // Written before the next key, whose member may be left out.
                self.member_ends();
                self.expects_key = true;
            }
            Token::StringStart if self.expects_key => {
                self.key.clear();
                (self.expects_key, self.in_key) = (false, true);
            }
            Token::Text if self.in_key => {
                let room = NAME.saturating_sub(self.key.len());
                self.key.extend_from_slice(&slice[..slice.len().min(room)]);
            }
            Token::StringEnd if self.in_key => {
                self.in_key = false;
                self.member_begins();
            }
            _ => self.keep(slice),
        }
        self.fit();
    }

    fn count(&mut self, token: Token, length: usize) {
        if self.skips == Some(2) && self.key == b"managedFields" {
            return;
        }
        match self.section {
            Some(Section::Status) => self.status_weight.add(token, length),
            Some(Section::Metadata) => {
                self.metadata_weight.add(token, length);
                self.weight.add(token, length);
            }
            _ => self.weight.add(token, length),
        }
    }

    /// Returns the part in which the current member is kept.
    fn part(&mut self) -> &mut Vec<u8> {
        &mut self.parts[self.section.unwrap_or(Section::Other) as usize]
    }

    fn keep(&mut self, slice: &[u8]) {
        if self.skips.is_none() && self.section.is_some() {
            self.part().extend_from_slice(slice);
        }
    }

    /// A key is complete: of the object or of its metadata.
    fn member_begins(&mut self) {
        let left_out = if self.depth == 1 {
            let section = match self.key.as_slice() {
                b"apiVersion" | b"kind" => Section::Kind,
                b"metadata" => Section::Metadata,
                b"status" => Section::Status,
                _ => Section::Other,
            };
            self.section = Some(section);
            match self.extent {
                Extent::Whole => section == Section::Status && self.status_left_out,
                Extent::Metadata => section == Section::Other,
                Extent::Names => section != Section::Metadata,
            }
        } else {
            self.key == b"managedFields" || (self.extent == Extent::Names && !is_name(&self.key))
        };
        if self.skips.is_some() {
            return;
        }
        if left_out {
            self.skips = Some(self.depth);
            return;
        }
        let key = std::mem::take(&mut self.key);
        let part = self.part();
        let start = part.len();
        if !part.is_empty() && part.last() != Some(&b'{') {
            part.push(b',');
        }
        part.push(b'"');
        part.extend_from_slice(&key);
        part.push(b'"');
        self.inner = if self.depth == 2 { start } else { self.inner };
        self.key = key;
    }

    fn member_ends(&mut self) {
        if !self.is_tracked() {
            return;
        }
        if self.depth == 2 && self.skips.is_none() && is_name(&self.key) {
            let member = self.parts[Section::Metadata as usize].get(self.inner..).unwrap_or_default();
            let member = member.strip_prefix(b",").unwrap_or(member);
            if member.len() <= NAME {
                if !self.names.is_empty() {
                    self.names.push(b',');
                }
                self.names.extend_from_slice(member);
            }
        }
        if self.depth == 2 && self.extent == Extent::Names {
            let inner = self.inner;
            self.part().truncate(inner);
        }
        if self.skips == Some(self.depth) {
            self.skips = None;
        }
        if self.depth == 1 {
            self.section = None;
        }
        self.key.clear();
    }

    /// Drops what is over a limit.
    fn fit(&mut self) {
        let [kind, metadata, status, _] = self.parts.each_ref().map(Vec::len);
        if !self.status_left_out && (status > self.limit || self.status_weight.is_heavy(self.limit)) {
            self.status_left_out = true;
            self.parts[Section::Status as usize] = Vec::new();
            self.leave_out(Section::Status);
        }
        if self.extent == Extent::Whole && self.weight.is_over(self.limit) {
            self.extent = Extent::Metadata;
            self.parts[Section::Other as usize] = Vec::new();
            self.leave_out(Section::Other);
        }
        let is_over = kind + metadata > self.limit || self.metadata_weight.is_heavy(self.limit);
        if self.extent == Extent::Metadata && is_over {
            self.extent = Extent::Names;
            let under_way =
                self.parts[Section::Metadata as usize].get(self.inner..).unwrap_or_default().to_vec();
            self.parts = Default::default();
            for section in [Section::Kind, Section::Status, Section::Other] {
                self.leave_out(section);
            }
            if self.section == Some(Section::Metadata) && self.skips.is_none() && self.depth >= 2 {
                self.inner = 0;
                if is_name(&self.key) {
                    *self.part() = under_way;
                } else {
                    self.skips = Some(2);
                }
            }
        }
        if self.extent == Extent::Names && metadata.saturating_sub(self.inner) > NAME && self.skips.is_none()
        {
            self.parts = Default::default();
            (self.inner, self.skips) = (0, Some(2));
        }
    }

    /// Leaves the member out that is under way, if it is of that section.
    fn leave_out(&mut self, section: Section) {
        if self.section == Some(section) {
            self.skips = Some(1);
        }
    }

    /// Joins the parts. Each is dropped as soon as it is copied, so that at most twice the object is held.
    fn end(&mut self) -> Cut {
        let names = match self.extent {
            Extent::Names => [b"\"metadata\":{", self.names.as_slice(), b"}"].concat(),
            Extent::Whole | Extent::Metadata => Vec::new(),
        };
        let kept = std::mem::take(&mut self.parts).into_iter().filter(|_| self.extent != Extent::Names);
        let parts: Vec<_> = kept.chain([names]).filter(|part| !part.is_empty()).collect();
        let mut text = Vec::with_capacity(parts.iter().map(|part| part.len() + 1).sum::<usize>() + 2);
        for part in parts {
            text.push(if text.is_empty() { b'{' } else { b',' });
            text.extend_from_slice(&part);
        }
        if text.is_empty() {
            text.push(b'{');
        }
        text.push(b'}');
        let status = if self.status_left_out { 0 } else { self.status_weight.memory() };
        let memory = match self.extent {
            Extent::Whole => self.weight.memory() + status,
            Extent::Metadata => self.metadata_weight.memory() + status,
            Extent::Names => text.len(),
        };
        Cut { text, size: self.weight.size(), memory, extent: self.extent }
    }
}

/// Whether a field of the metadata names the object.
fn is_name(key: &[u8]) -> bool {
    matches!(key, b"namespace" | b"name" | b"uid" | b"resourceVersion")
}

#[cfg(test)]
mod tests;
