//! Whether the kernel has enough inotify instances for one more instance of the planes.
//!
//! Kubernetes' programs watch their files by inotify, a user has 128 of its instances on many systems, and a
//! server that gets none ends with "too many open files", which names neither the limit nor what to do.

use std::fs;
use std::path::Path;

use super::planes::Cells;
use crate::progress::Progress;

/// How many an instance of the planes with two cells takes: six an API server, one most controllers (43 in
/// all), and what suites start.
const NEEDED: usize = 48;
/// How many each cell beyond two takes.
const EACH_CELL: usize = 7;
/// What the limit becomes where this process may raise it: enough for a dozen instances.
const RAISED: usize = 1024;

/// The user's limit.
const LIMIT: &str = "/proc/sys/fs/inotify/max_user_instances";

/// Raises the limit where it is too low, or warns where this process may not.
pub fn ensure(cells: Cells, progress: &Progress) {
    let Some(limit) = fs::read_to_string(LIMIT).ok().and_then(|text| text.trim().parse().ok()) else {
        return;
    };
    let used = used(Path::new("/proc"));
    if let Some(warning) = shortage(used, needed(cells), limit) {
        if fs::write(LIMIT, RAISED.to_string()).is_ok() {
            progress.step(format!("{LIMIT} was {limit}, and is {RAISED} now: {used} were in use"));
        } else {
            progress.warn(warning);
        }
    }
}

fn needed(cells: Cells) -> usize {
    NEEDED + EACH_CELL * (cells.count() - Cells::Two.count())
}

fn shortage(used: usize, needed: usize, limit: usize) -> Option<String> {
    (used + needed > limit).then(|| {
        format!(
            "{used} of {limit} inotify instances are in use, and the planes need up to {needed}: servers may end with \
             \"too many open files\"; raise the limit (`sudo sysctl fs.inotify.max_user_instances={RAISED}`) or run fewer \
             lanes"
        )
    })
}

/// How many the processes have open whose files this process may list: all of the user's.
fn used(proc: &Path) -> usize {
    let processes = fs::read_dir(proc).into_iter().flatten().flatten();
    let files =
        processes.filter_map(|process| fs::read_dir(process.path().join("fd")).ok()).flatten().flatten();
    files
        .filter(|file| fs::read_link(file.path()).is_ok_and(|link| link == Path::new("anon_inode:inotify")))
        .count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shortage_names_the_figures_and_the_remedy() {
        assert_eq!(shortage(0, NEEDED, 128), None);
        assert_eq!(shortage(128 - NEEDED, NEEDED, 128), None);
        let warning = shortage(129 - NEEDED, NEEDED, 128).unwrap();
        assert!(warning.contains("of 128 inotify instances") && warning.contains("sysctl"), "{warning}");
    }

    #[test]
    fn more_cells_take_more() {
        assert_eq!([Cells::Two, Cells::Four].map(needed), [NEEDED, NEEDED + 2 * EACH_CELL]);
    }

    #[test]
    fn what_processes_have_open_is_counted() {
        let proc = tempfile::tempdir().unwrap();
        let files = proc.path().join("1/fd");
        fs::create_dir_all(&files).unwrap();
        fs::create_dir_all(proc.path().join("sys")).unwrap();
        for (name, link) in
            [("3", "anon_inode:inotify"), ("4", "anon_inode:[eventfd]"), ("5", "anon_inode:inotify")]
        {
            std::os::unix::fs::symlink(link, files.join(name)).unwrap();
        }
        assert_eq!(used(proc.path()), 2);
    }
}
