//! Answers that exceed what is accepted from one server (I8).

/// Why an answer, or a list, was given up: it is larger than any that is expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Excess {
    /// The text of an answer, or of a line of a watch.
    #[error("the answer is longer than {0} bytes")]
    Bytes(usize),
    /// The text of one page of a list, which is asked for again with fewer objects on it.
    #[error("the page is longer than {0} bytes")]
    Page(usize),
    /// The memory that an answer, or a line of a watch, would take.
    #[error("the answer takes more than {0} bytes of memory once it is decoded")]
    Memory(usize),
    /// A single object, of which nothing else is known.
    #[error("an object is larger than {0} bytes")]
    Object(usize),
    /// The number of objects of a list, or of a kind on a plane.
    #[error("the list is too large: it has more than {0} objects")]
    Objects(usize),
    /// The memory that all objects of a list take together.
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
