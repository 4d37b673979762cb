//! How long a watch lasts on a connection that is pinged: dead connections are found in seconds there, so a
//! watch need not end to find them. kube's watcher asks for less than five minutes at most; two watches of
//! each of a thousand planes would then restart seven times a second.

use http::Uri;
use http::uri::PathAndQuery;

/// How many times as long as was asked for.
const LONGER: u32 = 6;

/// Whether a request for this begins a watch.
pub fn is_watch(uri: &Uri) -> bool {
    asks(uri.query(), "watch=true")
}

/// Whether a query has a part that begins so.
pub fn asks(query: Option<&str>, what: &str) -> bool {
    query.is_some_and(|query| query.split('&').any(|part| part.starts_with(what)))
}

/// The value of a parameter of a query.
pub fn parameter<'a>(query: Option<&'a str>, name: &str) -> Option<&'a str> {
    let mut parts = query?.split('&').filter_map(|part| part.split_once('='));
    parts.find_map(|(key, value)| (key == name).then_some(value))
}

/// Returns the URI of a watch with a longer time-out; `None` for other requests.
pub fn lengthened(uri: &Uri) -> Option<Uri> {
    let query = uri.query().filter(|_| is_watch(uri))?;
    let query = query
        .split('&')
        .map(|part| match part.strip_prefix("timeoutSeconds=").and_then(|s| s.parse::<u32>().ok()) {
            Some(seconds) => format!("timeoutSeconds={}", seconds.saturating_mul(LONGER)),
            None => part.to_owned(),
        })
        .collect::<Vec<_>>()
        .join("&");
    let mut parts = uri.clone().into_parts();
    parts.path_and_query = Some(PathAndQuery::try_from(format!("{}?{query}", uri.path())).ok()?);
    Uri::from_parts(parts).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_watches_last_longer() {
        for (asked, sent) in [
            ("/api/v1/pods?limit=500&timeoutSeconds=240", None),
            ("/api/v1/pods", None),
            (
                "/api/v1/pods?watch=true&timeoutSeconds=240&resourceVersion=7",
                Some("/api/v1/pods?watch=true&timeoutSeconds=1440&resourceVersion=7"),
            ),
            ("/api/v1/pods?watch=true", Some("/api/v1/pods?watch=true")),
        ] {
            let sent_now = lengthened(&asked.parse().unwrap()).map(|uri| uri.to_string());
            assert_eq!(sent_now.as_deref(), sent, "{asked}");
        }
        let absolute = lengthened(&"https://h:1/x?watch=true&timeoutSeconds=1".parse().unwrap()).unwrap();
        assert_eq!(absolute.to_string(), "https://h:1/x?watch=true&timeoutSeconds=6");
    }
}
