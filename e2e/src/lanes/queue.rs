//! In which order lanes take the work.

use std::collections::VecDeque;

use super::check::Check;
use crate::suites::Suite;
use crate::topology::planes::Cells;

/// What a lane takes from the queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Work {
    /// A suite that runs alone on its planes.
    Suite(Suite),
    /// A check that brings its own planes up.
    Check(Check),
    /// The suites that need four cells, on planes of their own.
    FourCells(Vec<Suite>),
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

/// Checks come first in the queue, and after them the suites that need four cells, for each takes longer than
/// any suite that runs alone: what is long has to begin early for the lanes to end together. Suites that need
/// four cells are one piece of work, so that such planes are there once, and only for them.
pub fn plan(suites: Vec<Suite>, checks: &[Check]) -> Plan {
    let (four_cells, others): (Vec<_>, Vec<_>) =
        suites.into_iter().partition(|suite| suite.cells == Cells::Four);
    let (last, others): (Vec<_>, Vec<_>) = others.into_iter().partition(|suite| suite.last);
    let (alone, together): (Vec<_>, Vec<_>) = others.into_iter().partition(|suite| suite.alone);
    let mut queue: VecDeque<_> = checks.iter().copied().map(Work::Check).collect();
    if !four_cells.is_empty() {
        queue.push_back(Work::FourCells(four_cells));
    }
    queue.extend(alone.into_iter().map(Work::Suite));
    Plan { together, queue, last }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::suites;

    fn suite(name: &str, alone: bool, last: bool) -> Suite {
        let name = name.to_owned();
        Suite { name, directory: PathBuf::new(), alone, last, cells: Cells::Two, needs: Vec::new() }
    }

    #[test]
    fn checks_begin_early_and_what_runs_last_stays_with_the_first_lane() {
        let one = suite("one", false, false);
        let two = suite("two", true, false);
        let last = suite("last", true, true);
        let wide = Suite { cells: Cells::Four, ..suite("wide", false, false) };
        let all = vec![last.clone(), two.clone(), wide.clone(), one.clone()];
        let plan = plan(all, &[Check::Alerts, Check::Page]);
        assert_eq!(plan.together, [one]);
        let [alerts, page] = [Check::Alerts, Check::Page].map(Work::Check);
        assert_eq!(plan.queue, [alerts, page, Work::FourCells(vec![wide]), Work::Suite(two)]);
        assert_eq!(plan.last, [last]);
    }

    #[test]
    fn no_suite_of_the_repository_is_left_out() {
        let all = suites::all().unwrap();
        let Plan { together, queue, last } = plan(all.clone(), &[]);
        let suites = |work: &Work| match work {
            Work::Suite(_) => 1,
            Work::FourCells(suites) => suites.len(),
            Work::Check(_) => 0,
        };
        let queued: usize = queue.iter().map(suites).sum();
        assert_eq!(together.len() + queued + last.len(), all.len());
        let names: Vec<_> = last.iter().map(|suite| &*suite.name).collect();
        assert_eq!(names, ["restart-writes-nothing", "uninstall"]);
    }
}
