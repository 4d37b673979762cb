//! The addresses of the pages. What is in them may come from names that tenants chose, and is encoded.

use std::fmt;

use form_urlencoded::Serializer;

use super::data::{ObjectQuery, PlaneState};

/// The path below which all pages are.
pub const ROOT: &str = "/status";
/// How long a text of a query may be, in bytes.
const LONGEST: usize = 512;

/// A page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Route {
    /// The fleet at a glance.
    Fleet,
    /// The list of planes.
    Planes(PlanesQuery),
    /// The page of a plane.
    Plane(String),
    /// An object's chain.
    Object(ObjectQuery),
}

/// Selects the planes to list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlanesQuery {
    /// Only those whose name contains this.
    pub name: String,
    /// Only those in this state.
    pub state: Option<PlaneState>,
    /// The page, from 1; 0 stands for that too.
    pub page: usize,
}

impl Route {
    /// The page at an address; none where there is none.
    pub fn from_path(path: &str, query: &str) -> Option<Self> {
        let pairs: Vec<(String, String)> = form_urlencoded::parse(query.as_bytes()).into_owned().collect();
        let value = |key: &str| {
            let found = pairs.iter().find(|(name, _)| name == key).map(|(_, value)| value.trim());
            found.filter(|value| value.len() <= LONGEST).unwrap_or_default().to_owned()
        };
        match path.strip_prefix(ROOT)?.trim_end_matches('/') {
            "" => Some(Self::Fleet),
            "/planes" => Some(Self::Planes(PlanesQuery {
                name: value("name"),
                state: value("state").parse().ok(),
                page: value("page").parse().unwrap_or_default(),
            })),
            "/plane" => Some(Self::Plane(value("name"))),
            "/object" => Some(Self::Object(ObjectQuery {
                kind: Some(value("kind")).filter(|kind| !kind.is_empty()).unwrap_or_else(|| "wd".to_owned()),
                plane: value("plane"),
                namespace: value("namespace"),
                name: value("name"),
            })),
            _ => None,
        }
    }
}

/// The address, relative to the server.
impl fmt::Display for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (page, pairs) = match self {
            Self::Fleet => ("", vec![]),
            Self::Planes(PlanesQuery { name, state, page }) => {
                let state = state.map(PlaneState::id).unwrap_or_default().to_owned();
                let page = if *page > 1 { page.to_string() } else { String::new() };
                ("/planes", vec![("name", name.clone()), ("state", state), ("page", page)])
            }
            Self::Plane(name) => ("/plane", vec![("name", name.clone())]),
            Self::Object(ObjectQuery { kind, plane, namespace, name }) => {
                let pairs = [("kind", kind), ("plane", plane), ("namespace", namespace), ("name", name)];
                ("/object", pairs.map(|(key, value)| (key, value.clone())).to_vec())
            }
        };
        let mut query = Serializer::new(String::new());
        query.extend_pairs(pairs.iter().filter(|(_, value)| !value.is_empty()));
        let query = query.finish();
        write!(f, "{ROOT}{page}{}{query}", if query.is_empty() { "" } else { "?" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_survives_its_way_whatever_it_names() {
        let hostile = "a&b=c\"><script>alert(1)</script>#%/ü\u{202e}";
        let query = ObjectQuery {
            kind: "instance".to_owned(),
            plane: hostile.to_owned(),
            namespace: "n".to_owned(),
            name: hostile.to_owned(),
        };
        let state = Some(PlaneState::Refused);
        for route in [
            Route::Fleet,
            Route::Planes(PlanesQuery { name: hostile.to_owned(), state, page: 7 }),
            Route::Plane(hostile.to_owned()),
            Route::Object(query),
        ] {
            let address = route.to_string();
            assert!(address.is_ascii() && !address.contains(['"', '<', '>', '#', ' ']), "{address}");
            let (path, query) = address.split_once('?').unwrap_or((&address, ""));
            assert_eq!(Route::from_path(path, query), Some(route), "{address}");
        }
    }

    #[test]
    fn what_makes_no_sense_is_the_first_page_or_none() {
        let planes = Route::Planes(PlanesQuery::default());
        assert_eq!(Route::from_path("/status/planes", "state=odd&page=-1&name="), Some(planes.clone()));
        let long = format!("name={}", "x".repeat(LONGEST + 1));
        assert_eq!(Route::from_path("/status/planes/", &long), Some(planes));
        assert_eq!(Route::from_path("/status/", ""), Some(Route::Fleet));
        assert_eq!(Route::from_path("/status/other", ""), None);
        assert_eq!(Route::from_path("/statusother", ""), None);
        assert_eq!(Route::from_path("/metrics", ""), None);
    }
}
