//! Small parts that several pages have: states, ages, sparklines.

use std::fmt::Write;
use std::time::Duration;

use fedhub_terminal::table::age;
use jiff::{SignedDuration, Timestamp};
use maud::{Markup, html};

use crate::status_page::data::{Attention, PlaneRow, PlaneState};
use crate::status_page::samples::{KEPT, Trend};

/// How urgently something needs attention. A word and a mark show it, besides the colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// As it should be.
    Good,
    /// Something is in progress, or for an operator to know.
    Notice,
    /// Attention is needed.
    Bad,
    /// Neither good nor bad.
    Plain,
}

impl Tone {
    /// The class of what has this tone.
    pub fn class(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Notice => "notice",
            Self::Bad => "bad",
            Self::Plain => "plain",
        }
    }

    /// Shapes differ, so that states can be told apart without colour; readers of screens get the word alone.
    fn mark(self) -> &'static str {
        match self {
            Self::Good => "●",
            Self::Notice => "▲",
            Self::Bad => "■",
            Self::Plain => "○",
        }
    }
}

/// A state: a mark and a word.
pub fn state(tone: Tone, word: &str) -> Markup {
    html! { span class={ "state " (tone.class()) } { span aria-hidden="true" { (tone.mark()) } "\u{a0}" (word) } }
}

/// The tone of a plane's state.
pub fn tone(state: PlaneState) -> Tone {
    match state {
        PlaneState::Unreachable | PlaneState::Refused => Tone::Bad,
        PlaneState::Engaging => Tone::Notice,
        PlaneState::Paused | PlaneState::Suspended => Tone::Plain,
        PlaneState::Engaged => Tone::Good,
    }
}

/// The state of a plane, and what holds it up besides.
pub fn plane_state(row: &PlaneRow) -> Markup {
    html! {
        (state(tone(row.state), row.state.id()))
        @if row.circuit_open { " " (state(Tone::Bad, "circuit open")) }
        @else {
            @match row.attention() {
                Attention::Stuck => { " " (state(Tone::Bad, "stuck")) }
                Attention::Slow => { " " (state(Tone::Notice, "slow")) }
                Attention::Failing | Attention::None => {}
            }
        }
    }
}

/// A span as kubectl prints ages.
pub fn span(duration: Duration) -> String {
    let zero = Timestamp::UNIX_EPOCH;
    let longest = Duration::from_hours(100 * 365 * 24);
    let duration = SignedDuration::try_from(duration.min(longest)).unwrap_or_default();
    age(zero, zero + duration)
}

/// The age of the oldest change; a dash where nothing waits.
pub fn oldest(age: Option<Duration>) -> Markup {
    html! {
        @match age {
            Some(age) => (span(age)),
            None => { span.soft { span aria-hidden="true" { "–" } span.hidden { "none" } } },
        }
    }
}

/// Seconds, with as many digits as matter.
pub fn seconds(seconds: f64) -> String {
    match seconds {
        s if s < 0.0005 => "0 ms".to_owned(),
        s if s < 1.0 => format!("{:.0} ms", s * 1000.0),
        s if s < 10.0 => format!("{s:.1} s"),
        s if s < 120.0 => format!("{s:.0} s"),
        s => span(Duration::try_from_secs_f64(s).unwrap_or_default()),
    }
}

/// A number with spaces between thousands, which do not break.
pub fn number(n: usize) -> String {
    let digits = n.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push('\u{202f}');
        }
        text.push(digit);
    }
    text
}

/// `1 plane`, `2 planes`.
pub fn counted(n: usize, one: &str) -> String {
    if n == 1 { format!("1 {one}") } else { format!("{} {one}s", number(n)) }
}

/// A label of a metric in words.
pub fn words(label: &str) -> String {
    label.replace('_', " ")
}

const WIDTH: f32 = 160.0;
const HEIGHT: f32 = 28.0;
/// Room for the line's own width.
const MARGIN: f32 = 2.0;

/// A trend as a line. What it shows is told by its title, and its last value beside it.
pub fn sparkline(trend: &Trend, what: &str, covered: Duration) -> Markup {
    let Some(highest) = trend.highest() else {
        return html! { span.soft { "no data yet" } };
    };
    let title = format!("{what}: highest {} in {}", seconds(f64::from(highest)), span(covered));
    let (path, last) = line(trend, highest);
    html! {
        svg.spark viewBox=(format!("0 0 {WIDTH} {HEIGHT}")) role="img" aria-label=(title) preserveAspectRatio="none" {
            title { (title) }
            path.base d=(format!("M0 {0:.1}H{WIDTH}", HEIGHT - MARGIN / 2.0)) {}
            path.line d=(path) {}
            @if let Some((x, y)) = last { path.dot d=(format!("M{x:.1} {y:.1}h0")) {} }
        }
    }
}

/// The line, broken where nothing was measured, and its last point. The newest sample is on the right.
#[allow(clippy::cast_precision_loss)] // A few hundred samples.
fn line(trend: &Trend, highest: f32) -> (String, Option<(f32, f32)>) {
    let step = (WIDTH - 2.0 * MARGIN) / (KEPT - 1) as f32;
    let first = KEPT.saturating_sub(trend.0.len());
    let mut path = String::new();
    let mut last = None;
    let mut drawing = false;
    for (at, sample) in trend.0.iter().enumerate() {
        let Some(value) = sample else {
            drawing = false;
            continue;
        };
        let x = MARGIN + (first + at) as f32 * step;
        let share = if highest > 0.0 { value / highest } else { 0.0 };
        let y = (HEIGHT - 2.0 * MARGIN).mul_add(-share, HEIGHT - MARGIN);
        // A lone sample is drawn too: its line has no length, and round ends.
        let _ = if drawing { write!(path, "L{x:.1} {y:.1}") } else { write!(path, "M{x:.1} {y:.1}h0") };
        (last, drawing) = (Some((x, y)), true);
    }
    (path, last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_read_well() {
        for (value, expected) in [
            (0.0, "0 ms"),
            (0.0042, "4 ms"),
            (0.25, "250 ms"),
            (1.25, "1.2 s"),
            (42.0, "42 s"),
            (200.0, "3m20s"),
        ] {
            assert_eq!(seconds(value), expected);
        }
        for (n, expected) in
            [(0, "0"), (999, "999"), (1000, "1\u{202f}000"), (1_234_567, "1\u{202f}234\u{202f}567")]
        {
            assert_eq!(number(n), expected);
        }
        assert_eq!(
            [counted(0, "plane"), counted(1, "plane"), counted(2, "plane")],
            ["0 planes", "1 plane", "2 planes"]
        );
        assert_eq!(span(Duration::MAX), "36500d");
    }

    #[test]
    fn a_line_breaks_where_nothing_was_measured_and_ends_on_the_right() {
        let (path, last) = line(&Trend(vec![Some(1.0), None, Some(0.5), Some(2.0)]), 2.0);
        assert_eq!(path.matches('M').count(), 2, "{path}");
        assert_eq!(path.matches('L').count(), 1, "{path}");
        assert_eq!(last, Some((WIDTH - MARGIN, MARGIN)));
        let (path, last) = line(&Trend(vec![Some(0.0); KEPT]), 0.0);
        assert!(path.starts_with("M2.0 26.0") && !path.contains("NaN"), "{path}");
        assert_eq!(last, Some((WIDTH - MARGIN, HEIGHT - MARGIN)));
    }
}
