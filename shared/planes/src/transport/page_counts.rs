//! Counts the pages of lists whose reader follows `continue` for as long as a server sends it (I8).

use std::collections::BTreeMap;
use std::sync::Arc;

use fedhub_core::errors::Excess;
use http::Uri;
use parking_lot::Mutex;

use super::watches::parameter;

/// How many pages a list may have: those of five million objects.
pub const PAGES: usize = 10_000;
/// The parameters that differ from one page of a list to the next.
const OF_PAGE: [&str; 4] = ["continue", "limit", "resourceVersion", "resourceVersionMatch"];

/// How many pages the lists of a plane have had that are under way, by what they list.
#[derive(Clone, Debug, Default)]
pub struct PageCounts(Arc<Mutex<BTreeMap<String, usize>>>);

impl PageCounts {
    /// Counts a page that is about to be asked for, unless its list has had too many. Two lists of the same
    /// that are under way at once count as one, which ends no list that ends by itself.
    pub fn count(&self, uri: &Uri) -> Result<(), Excess> {
        let mut counts = self.0.lock();
        if parameter(uri.query(), "continue").is_none() {
            counts.remove(&listed(uri));
            return Ok(());
        }
        let pages = counts.entry(listed(uri)).or_insert(1);
        if *pages == PAGES {
            return Err(Excess::Pages(PAGES));
        }
        *pages += 1;
        Ok(())
    }
}

/// Returns the key of a list, which is the same for all of its pages.
fn listed(uri: &Uri) -> String {
    let parameters = uri.query().unwrap_or_default().split('&');
    let selectors = parameters.filter(|part| !OF_PAGE.contains(&part.split('=').next().unwrap_or_default()));
    selectors.fold(uri.path().to_owned(), |listed, selector| listed + "&" + selector)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(list: &str, token: Option<usize>) -> Uri {
        let token = token.map(|token| format!("&continue=page-{token}")).unwrap_or_default();
        format!("/api/v1/secrets?limit=500{token}&labelSelector={list}").parse().unwrap()
    }

    #[test]
    fn i8_a_list_whose_pages_do_not_end_is_ended_and_others_are_not() {
        let counts = PageCounts::default();
        counts.count(&page("a", None)).unwrap();
        for token in 1..PAGES {
            counts.count(&page("a", Some(token))).unwrap();
        }
        assert_eq!(counts.count(&page("a", Some(PAGES))), Err(Excess::Pages(PAGES)));
        assert_eq!(counts.count(&page("a", Some(1))), Err(Excess::Pages(PAGES)), "until it begins anew");
        counts.count(&page("b", Some(1))).unwrap();
        counts.count(&page("a", None)).unwrap();
        counts.count(&page("a", Some(1))).unwrap();
        counts.count(&page("a", None)).unwrap();
        counts.count(&page("b", None)).unwrap();
        assert!(counts.0.lock().is_empty(), "nothing is kept of lists that have one page");
    }
}
