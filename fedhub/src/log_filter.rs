//! The log filter of the running process, changed for a while by `PUT /log` of the admin server.

use std::sync::Arc;
use std::time::Duration;

use fedhub_core::clock::parse_duration;
use fedhub_core::telemetry;
use parking_lot::Mutex;
use tokio::time::Instant;

/// How long a filter stands unless the request says how long.
const USUAL: Duration = Duration::from_mins(10);
/// The longest: a log at `debug` must not outlast the search for a fault by days.
const LONGEST: Duration = Duration::from_hours(24);

/// The log filter, and how long it is another than `--log`.
pub struct LogFilter {
    log: telemetry::LogFilter,
    usual: String,
    other: Mutex<Option<Other>>,
}

/// A filter in the place of the usual one.
struct Other {
    filter: String,
    until: Instant,
}

impl LogFilter {
    /// Creates the log filter of a process that was started with the filter `usual`.
    pub fn new(log: telemetry::LogFilter, usual: &str) -> Arc<Self> {
        Arc::new(Self { log, usual: usual.to_owned(), other: Mutex::default() })
    }

    /// The filter in force, in words.
    pub fn show(&self) -> String {
        match &*self.other.lock() {
            None => format!("{}\n", self.usual),
            Some(Other { filter, until }) => {
                let left = until.saturating_duration_since(Instant::now()).as_secs();
                format!("{filter}, for {left} s more, then {}\n", self.usual)
            }
        }
    }

    /// Sets `filter` for as long as the `query` of a request says, as in `for=10m`.
    pub fn change(self: &Arc<Self>, filter: &str, query: &str) -> Result<(), String> {
        let filter = filter.trim();
        let time = duration(query)?;
        if filter.is_empty() {
            return Err("no log filter in the body: expected one such as debug or info,fedhub_planes=debug"
                .to_owned());
        }
        let until = Instant::now() + time;
        {
            let mut other = self.other.lock();
            self.log.set(filter)?;
            *other = Some(Other { filter: filter.to_owned(), until });
        }
        tracing::info!(filter, seconds = time.as_secs(), "log filter changed");
        let this = self.clone();
        tokio::spawn(async move {
            tokio::time::sleep_until(until).await;
            this.end(|other| other.until <= Instant::now());
        });
        Ok(())
    }

    /// Restores the filter that the process was started with.
    pub fn reset(&self) {
        self.end(|_| true);
    }

    fn end(&self, is_over: impl Fn(&Other) -> bool) {
        let mut other = self.other.lock();
        if !other.as_ref().is_some_and(is_over) {
            return;
        }
        // It was parsed at the start.
        if let Err(error) = self.log.set(&self.usual) {
            tracing::error!(error, "failed to restore the log filter");
            return;
        }
        *other = None;
        drop(other);
        tracing::info!(filter = self.usual, "log filter restored");
    }
}

/// How long a filter is to stand, by the query of a request.
fn duration(query: &str) -> Result<Duration, String> {
    if query.is_empty() {
        return Ok(USUAL);
    }
    let text =
        query.strip_prefix("for=").ok_or_else(|| format!("unknown query {query:?}: expected for=10m"))?;
    let time = parse_duration(text)?;
    if time.is_zero() || time > LONGEST {
        return Err(format!("for={text} is not between 1ms and 24h"));
    }
    Ok(time)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A filter that keeps what is set, and refuses `loud`.
    pub fn filter() -> (Arc<LogFilter>, Arc<Mutex<String>>) {
        let set = Arc::new(Mutex::new("info".to_owned()));
        let kept = set.clone();
        let log = telemetry::LogFilter::new(move |filter| match filter {
            "loud" => Err("log filter \"loud\": invalid".to_owned()),
            filter => {
                filter.clone_into(&mut kept.lock());
                Ok(())
            }
        });
        (LogFilter::new(log, "info"), set)
    }

    async fn pass(time: Duration) {
        tokio::time::sleep(time).await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_filter_stands_for_its_time_and_an_earlier_end_does_not_cut_it_short() {
        let (log, set) = filter();
        log.change("debug\n", "").unwrap();
        assert_eq!(
            (set.lock().as_str(), log.show().as_str()),
            ("debug", "debug, for 600 s more, then info\n")
        );
        pass(Duration::from_secs(599)).await;
        assert_eq!(*set.lock(), "debug");
        log.change("trace", "for=1h30m").unwrap();
        pass(Duration::from_mins(89)).await;
        assert_eq!(log.show(), "trace, for 60 s more, then info\n");
        pass(Duration::from_mins(2)).await;
        assert_eq!((set.lock().as_str(), log.show().as_str()), ("info", "info\n"));
        // One that is reset leaves nothing to end.
        log.change("debug", "for=1m").unwrap();
        log.reset();
        assert_eq!(*set.lock(), "info");
        "by hand".clone_into(&mut set.lock());
        log.reset();
        pass(Duration::from_hours(1)).await;
        assert_eq!(*set.lock(), "by hand");
    }

    #[tokio::test]
    async fn what_is_refused_changes_nothing_and_says_why() {
        let (log, set) = filter();
        for (filter, query, says) in [
            ("loud", "", "loud"),
            (" \n", "", "fedhub_planes=debug"),
            ("debug", "for=10", "500ms"),
            ("debug", "for=0s", "24h"),
            ("debug", "for=25h", "24h"),
            ("debug", "until=now", "for=10m"),
        ] {
            let fault = log.change(filter, query).unwrap_err();
            assert!(fault.contains(says), "{filter:?} {query}: {fault}");
        }
        assert_eq!((set.lock().as_str(), log.show().as_str()), ("info", "info\n"));
    }
}
