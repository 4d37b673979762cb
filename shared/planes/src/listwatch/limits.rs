//! How much is taken of one list (I8): a server may send page after page for ever.

use fedhub_core::errors::Excess;

use crate::transport::PAGES;

/// How many pages in a row may have no object: servers skip what a selector leaves out, a page at a time.
const EMPTY_PAGES: usize = 100;

/// How many objects of a kind a plane may have that is no project's: those of all tenants together.
pub const OF_ALL: usize = 5_000_000;

/// How much is taken of one list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListLimits {
    /// How many objects it may have.
    pub objects: usize,
    /// How many bytes of memory its objects may take together, for who keeps them.
    pub bytes: usize,
}

impl ListLimits {
    /// Limits the number of objects, none of which is kept.
    pub fn objects(objects: usize) -> Self {
        Self { objects, bytes: usize::MAX }
    }
}

/// The tally of a list so far.
#[derive(Clone, Copy, Debug)]
pub struct Tally {
    limits: ListLimits,
    /// The objects and bytes on the pages that are complete.
    objects: usize,
    bytes: usize,
    /// The objects on the page under way, which may have to be requested again.
    on_page: usize,
    bytes_on_page: usize,
    pages: usize,
    empty_pages: usize,
}

impl Tally {
    /// Creates an empty tally.
    pub fn new(limits: ListLimits) -> Self {
        Self { limits, objects: 0, bytes: 0, on_page: 0, bytes_on_page: 0, pages: 0, empty_pages: 0 }
    }

    /// A page is asked for.
    pub fn page_begins(&mut self) {
        (self.on_page, self.bytes_on_page) = (0, 0);
    }

    /// How many objects came on the page under way.
    pub fn on_page(&self) -> usize {
        self.on_page
    }

    /// Counts an object that takes `memory` bytes of memory.
    pub fn object(&mut self, memory: usize) -> Result<(), Excess> {
        self.on_page += 1;
        self.bytes_on_page = self.bytes_on_page.saturating_add(memory);
        if self.objects + self.on_page > self.limits.objects {
            return Err(Excess::Objects(self.limits.objects));
        }
        if self.bytes.saturating_add(self.bytes_on_page) > self.limits.bytes {
            return Err(Excess::List(self.limits.bytes));
        }
        Ok(())
    }

    /// The page is complete that was asked for by one token, and the next one is named by another.
    pub fn page_ends(&mut self, asked: Option<&str>, next: Option<&str>) -> Result<(), Excess> {
        self.objects += self.on_page;
        self.bytes = self.bytes.saturating_add(self.bytes_on_page);
        self.pages += 1;
        self.empty_pages = if self.on_page == 0 { self.empty_pages + 1 } else { 0 };
        if next.is_some() && next == asked {
            return Err(Excess::SamePage);
        }
        if next.is_some() && self.empty_pages >= EMPTY_PAGES {
            return Err(Excess::EmptyPages(EMPTY_PAGES));
        }
        if next.is_some() && self.pages >= PAGES {
            return Err(Excess::Pages(PAGES));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns how many pages of `objects` objects are taken, each named by the number of the last, and why
    /// no more.
    fn take(limits: ListLimits, objects: usize, names: impl Fn(usize) -> String) -> (usize, Excess) {
        let mut tally = Tally::new(limits);
        let mut asked = None;
        for page in 0.. {
            tally.page_begins();
            let next = Some(names(page));
            let came = (0..objects).try_for_each(|_| tally.object(1000));
            if let Err(excess) = came.and_then(|()| tally.page_ends(asked.as_deref(), next.as_deref())) {
                return (page, excess);
            }
            asked = next;
        }
        unreachable!("pages end")
    }

    #[test]
    fn i8_no_list_is_endless_whatever_its_pages_are_called() {
        let limits = ListLimits { objects: 1000, bytes: 1 << 20 };
        let named = |page: usize| page.to_string();
        assert_eq!(take(limits, 10, named), (100, Excess::Objects(1000)));
        assert_eq!(take(limits, 2000, named), (0, Excess::Objects(1000)), "within a page, too");
        assert_eq!(take(limits, 0, named), (EMPTY_PAGES - 1, Excess::EmptyPages(EMPTY_PAGES)));
        assert_eq!(take(limits, 10, |_| "again".to_owned()), (1, Excess::SamePage));
        assert_eq!(take(ListLimits::objects(OF_ALL), 1, named), (PAGES - 1, Excess::Pages(PAGES)));
        let small = ListLimits { bytes: 25_000, ..limits };
        assert_eq!(take(small, 10, named), (2, Excess::List(25_000)));
    }

    #[test]
    fn i8_a_page_that_is_asked_for_again_counts_once() {
        let mut tally = Tally::new(ListLimits::objects(10));
        for _ in 0..5 {
            tally.page_begins();
            (0..10).for_each(|_| tally.object(1).unwrap());
        }
        tally.page_ends(None, None).unwrap();
        tally.page_begins();
        assert_eq!(tally.object(1), Err(Excess::Objects(10)));
    }
}
