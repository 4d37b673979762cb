//! What a server sends beyond what is taken of one server (I8).

use std::error::Error;

/// Why an answer, or a list, was given up: it is larger than any that is expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Excess {
    /// The text of an answer, or of a line of a watch.
    #[error("the answer is longer than {0} bytes")]
    Bytes(usize),
    /// What an answer, or a line of a watch, would take in memory.
    #[error("the answer takes more than {0} bytes of memory once it is decoded")]
    Memory(usize),
    /// One object, where nothing is known that could be told of it alone.
    #[error("an object is larger than {0} bytes")]
    Object(usize),
    /// The number of objects of a list, or of a kind on a plane.
    #[error("the list is too large: it has more than {0} objects")]
    Objects(usize),
    /// What the objects of a list take together.
    #[error("the list is too large: its objects take more than {0} bytes of memory")]
    List(usize),
    /// Pages in a row without an object.
    #[error("the list does not end: {0} pages in a row have no object")]
    EmptyPages(usize),
    /// The number of pages.
    #[error("the list does not end: it has more than {0} pages")]
    Pages(usize),
    /// A page whose `continue` is the one that it was asked for by.
    #[error("the list does not end: a page names itself as the next one")]
    SamePage,
}

impl Excess {
    /// The excess among the causes of an error, if it is one.
    pub fn find_in(error: &(dyn Error + 'static)) -> Option<Self> {
        let mut cause = Some(error);
        while let Some(error) = cause {
            if let Some(excess) = error.downcast_ref::<Self>() {
                return Some(*excess);
            }
            cause = inner(error).or_else(|| error.source());
        }
        None
    }
}

/// What an I/O error wraps: its `source` is that of what it wraps, not what it wraps.
fn inner<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a (dyn Error + 'static)> {
    let wrapped = error.downcast_ref::<std::io::Error>()?.get_ref()?;
    Some(wrapped)
}

/// As the error of a client, of which the server is to blame and nothing else.
impl From<Excess> for kube::Error {
    fn from(excess: Excess) -> Self {
        Self::Service(Box::new(excess))
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    #[test]
    fn i8_an_excess_is_found_however_a_client_wraps_it() {
        let excess = Excess::Objects(3);
        let direct = kube::Error::from(excess);
        let streamed = kube::Error::ReadEvents(io::Error::other(kube::Error::from(excess)));
        let twice = kube::Error::Service(Box::new(io::Error::other(kube::Error::from(excess))));
        for error in [&direct, &streamed, &twice] {
            assert_eq!(Excess::find_in(error), Some(excess), "{error:?}");
        }
        assert_eq!(Excess::find_in(&kube::Error::LinesCodecMaxLineLengthExceeded), None);
    }
}
