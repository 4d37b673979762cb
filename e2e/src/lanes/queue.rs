//! In which order lanes take the work.

use std::collections::VecDeque;

use super::check::Check;
use crate::suites::Suite;

/// What a lane takes from the queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Work {
    /// A suite that runs alone on its planes.
    Suite(Suite),
    /// A check that brings its own planes up.
    Check(Check),
}

/// The work of a run.
#[derive(Debug, PartialEq, Eq)]
pub struct Plan {
    /// The suites that run together, on the planes of the first lane.
    pub together: Vec<Suite>,
    /// What any lane takes, in this order.
    pub queue: VecDeque<Work>,
    /// The suites that look at or change what others left: the first lane runs them after everything else
    /// that it had.
    pub last: Vec<Suite>,
}

/// Checks come first in the queue, for each takes longer than any suite that runs alone: what is long has to
/// begin early for the lanes to end together.
pub fn plan(suites: Vec<Suite>, checks: &[Check]) -> Plan {
    let (last, others): (Vec<_>, Vec<_>) = suites.into_iter().partition(|suite| suite.last);
    let (alone, together): (Vec<_>, Vec<_>) = others.into_iter().partition(|suite| suite.alone);
    let checks = checks.iter().copied().map(Work::Check);
    Plan { together, queue: checks.chain(alone.into_iter().map(Work::Suite)).collect(), last }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::suites;

    fn suite(name: &str, alone: bool, last: bool) -> Suite {
        Suite { name: name.to_owned(), directory: PathBuf::new(), alone, last, needs: Vec::new() }
    }

    #[test]
    fn checks_begin_early_and_what_runs_last_stays_with_the_first_lane() {
        let one = suite("one", false, false);
        let two = suite("two", true, false);
        let last = suite("last", true, true);
        let plan = plan(vec![last.clone(), two.clone(), one.clone()], &[Check::Alerts, Check::Page]);
        assert_eq!(plan.together, [one]);
        assert_eq!(plan.queue, [Work::Check(Check::Alerts), Work::Check(Check::Page), Work::Suite(two)]);
        assert_eq!(plan.last, [last]);
    }

    #[test]
    fn no_suite_of_the_repository_is_left_out() {
        let all = suites::all().unwrap();
        let Plan { together, queue, last } = plan(all.clone(), &[]);
        assert_eq!(together.len() + queue.len() + last.len(), all.len());
        let names: Vec<_> = last.iter().map(|suite| &*suite.name).collect();
        assert_eq!(names, ["restart-writes-nothing", "uninstall"]);
    }
}
