//! Prometheus text: what processes say of themselves.

use std::collections::BTreeMap;

/// The samples of one scrape, or the difference of two.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Scrape(BTreeMap<Series, f64>);

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Series {
    name: String,
    labels: BTreeMap<String, String>,
}

/// The values of a label for a sample to count.
pub type Label<'a> = (&'a str, &'a [&'a str]);

impl Scrape {
    /// Reads the text form. Lines that are no samples are passed over.
    pub fn parse(text: &str) -> Self {
        Self(text.lines().filter_map(sample).collect())
    }

    /// The sum of the samples of that name whose labels are among those given.
    pub fn sum(&self, name: &str, labels: &[Label<'_>]) -> f64 {
        let of = |series: &Series| {
            series.name == name
                && labels.iter().all(|(label, values)| {
                    series.labels.get(*label).is_some_and(|value| values.contains(&value.as_str()))
                })
        };
        // Not `sum`, for which nothing is a negative zero.
        self.0.iter().filter(|(series, _)| of(series)).fold(0.0, |sum, (_, value)| sum + value)
    }

    /// The mean of a histogram, in its unit; zero where it has seen nothing.
    pub fn mean(&self, histogram: &str, labels: &[Label<'_>]) -> f64 {
        let count = self.sum(&format!("{histogram}_count"), labels);
        if count > 0.0 { self.sum(&format!("{histogram}_sum"), labels) / count } else { 0.0 }
    }

    /// Returns how much each sample has grown since `before`.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        let grown = self.0.iter().map(|(series, value)| {
            (series.clone(), value - before.0.get(series).copied().unwrap_or_default())
        });
        Self(grown.collect())
    }

    /// The samples of a name by the values of these labels, joined by spaces; those that are zero are left
    /// out.
    pub fn by(&self, name: &str, labels: &[&str]) -> BTreeMap<String, f64> {
        let mut sums = BTreeMap::new();
        for (series, value) in self.0.iter().filter(|(series, value)| series.name == name && **value != 0.0) {
            let values: Vec<_> =
                labels.iter().filter_map(|label| series.labels.get(*label).map(String::as_str)).collect();
            *sums.entry(values.join(" ")).or_default() += value;
        }
        sums
    }
}

/// `name{label="value",...} value [time]`.
fn sample(line: &str) -> Option<(Series, f64)> {
    let line = line.trim();
    if line.is_empty() || line.starts_with('#') {
        return None;
    }
    let name_ends = line.find(['{', ' '])?;
    let (name, mut rest) = line.split_at(name_ends);
    let mut labels = BTreeMap::new();
    if let Some(inside) = rest.strip_prefix('{') {
        rest = inside;
        while let Some((label, after)) = rest.trim_start_matches([',', ' ']).split_once("=\"") {
            let (value, end) = quoted(after)?;
            labels.insert(label.to_owned(), value);
            rest = &after[end..];
            if rest.trim_start_matches([',', ' ']).starts_with('}') {
                break;
            }
        }
        rest = rest.trim_start_matches([',', ' ']).strip_prefix('}')?;
    }
    let value = rest.split_whitespace().next()?.parse().ok()?;
    Some((Series { name: name.to_owned(), labels }, value))
}

/// A label's value up to its closing quote, and where what follows that begins.
fn quoted(text: &str) -> Option<(String, usize)> {
    let mut value = String::new();
    let mut characters = text.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => return Some((value, at + 1)),
            '\\' => match characters.next()?.1 {
                'n' => value.push('\n'),
                other => value.push(other),
            },
            other => value.push(other),
        }
    }
    None
}

#[cfg(test)]
#[allow(clippy::float_cmp, reason = "numbers that are exact")]
mod tests {
    use super::*;

    const TEXT: &str = r#"
# HELP requests Requests.
# TYPE requests counter
requests{verb="get",code="200"} 3
requests{verb="get",code="404"} 1
requests{verb="create",code="201"} 5 1700000000
up 1
uptime 9
odd{path="a\"b,c=\"}\\",} 2
seconds_sum{verb="get"} 0.5
seconds_count{verb="get"} 2
broken{verb="get" 7
"#;

    #[test]
    fn samples_are_chosen_by_their_labels() {
        let scrape = Scrape::parse(TEXT);
        for (name, labels, expected) in [
            ("requests", &[][..], 9.0),
            ("requests", &[("verb", &["get"][..])], 4.0),
            ("requests", &[("verb", &["get", "create"][..]), ("code", &["200", "201"])], 8.0),
            ("requests", &[("zone", &["a"][..])], 0.0),
            ("up", &[], 1.0),
            ("odd", &[("path", &["a\"b,c=\"}\\"][..])], 2.0),
            ("broken", &[], 0.0),
            ("nothing", &[], 0.0),
        ] {
            assert_eq!(scrape.sum(name, labels), expected, "{name} {labels:?}");
        }
    }

    #[test]
    fn a_mean_of_nothing_is_nothing() {
        let scrape = Scrape::parse(TEXT);
        assert_eq!(scrape.mean("seconds", &[("verb", &["get"])]), 0.25);
        assert_eq!(scrape.mean("seconds", &[("verb", &["list"])]), 0.0);
    }

    #[test]
    fn growth_counts_what_was_not_there_before() {
        let before = Scrape::parse("requests{verb=\"get\"} 3\nup 1");
        let grown = Scrape::parse("requests{verb=\"get\"} 5\nrequests{verb=\"list\"} 2\nup 1").since(&before);
        assert_eq!(
            grown.by("requests", &["verb"]),
            [("get".to_owned(), 2.0), ("list".to_owned(), 2.0)].into()
        );
        assert_eq!(grown.sum("up", &[]), 0.0);
    }
}
