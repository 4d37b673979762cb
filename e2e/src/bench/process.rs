//! fedhub as a process that is measured: started by the benchmark, read from `/proc`, ended with it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tokio::process::{Child, Command};

use super::metrics::Scrape;
use crate::Error;
use crate::fedhub::pod::Pod;
use crate::fedhub::scrape::metrics;
use crate::topology::wait::{NotYet, http_ok, until};

/// How long it may take to be ready, to come to rest and to end.
const PATIENCE: Duration = Duration::from_mins(5);
/// A tick of the times in `/proc/PID/stat`. The kernel reports hundredths of a second to user space on every
/// machine.
const TICK: Duration = Duration::from_millis(10);

/// A fedhub that runs. Dropping it kills it.
pub struct Process {
    child: Child,
    pid: i32,
    port: u16,
    log: PathBuf,
}

impl Process {
    /// Starts `program` so, with `port` as the place of its metrics. What it writes goes to the end of `log`.
    pub fn spawn(program: &Path, pod: &Pod, port: u16, log: &Path) -> Result<Self, Error> {
        let file =
            fs::File::options().create(true).append(true).open(log).map_err(Error::file("open", log))?;
        let errors = file.try_clone().map_err(Error::file("open", log))?;
        let mut command = Command::new(program);
        command.args(&pod.arguments).env_clear().envs(&pod.environment);
        command.stdin(Stdio::null()).stdout(file).stderr(errors);
        // A group of its own: Ctrl-C at the terminal reaches the benchmark alone, which ends things in order.
        command.kill_on_drop(true).process_group(0);
        let child = command.spawn().map_err(Error::file("start", program))?;
        let pid = child.id().and_then(|pid| i32::try_from(pid).ok()).unwrap_or_default();
        Ok(Self { child, pid, port, log: log.to_path_buf() })
    }

    /// Waits until the process is ready and has engaged `planes` project planes.
    pub async fn ready(&mut self, planes: usize) -> Result<(), Error> {
        let port = self.port;
        self.alive()?;
        until("fedhub to be ready", PATIENCE, || http_ok(port, "/readyz")).await?;
        until("fedhub to engage every project plane", PATIENCE, || async {
            let engaged = scrape(port).await?.sum("fedhub_planes", &[("state", &["engaged"])]);
            if engaged >= super::stats::number(planes) { Ok(()) } else { Err(NotYet::again(engaged)) }
        })
        .await
    }

    /// Waits until it has nothing left to do and has looked at everything: see `Fedhub::settled`.
    pub async fn settled(&mut self) -> Result<(), Error> {
        self.alive()?;
        let before = std::cell::Cell::new(None);
        until("fedhub to come to rest", PATIENCE, || async {
            let passes = self.rests(0).await?;
            let same = before.replace(Some(passes)) == Some(passes);
            if same { Ok(()) } else { Err(NotYet::again(format!("{passes} passes"))) }
        })
        .await
    }

    /// Waits until `count` WDs without a status got a progress condition since the start, and the last of
    /// their Events is sent.
    pub async fn conditions_written(&self, count: usize) -> Result<(), Error> {
        const LOOK: Duration = Duration::from_secs(5);
        let conditions = [
            ("plane_kind", &["project"][..]),
            ("verb", &["update"]),
            ("resource", &["workloaddeployments/status"]),
            ("code", &["200"]),
        ];
        let before = std::cell::Cell::new(-1.0);
        until("every WD to have a condition of how far it has come", PATIENCE, || async {
            tokio::time::sleep(LOOK).await;
            let scrape = self.scrape().await.map_err(NotYet::Never)?;
            let written = scrape.sum("fedhub_api_requests_total", &conditions);
            let events = scrape.sum("fedhub_api_requests_total", &[("resource", &["events"])]);
            let same = before.replace(events).total_cmp(&events).is_eq();
            if same && written >= super::stats::number(count) {
                Ok(())
            } else {
                Err(NotYet::again(format!("{written} of {count}, {events} Events")))
            }
        })
        .await
    }

    /// Returns whether the process is ready, has engaged `planes` project planes, has looked at everything,
    /// and has nothing left to do; and how many passes it has made.
    pub async fn rests(&self, planes: usize) -> Result<f64, NotYet> {
        http_ok(self.port, "/readyz").await?;
        let scrape = scrape(self.port).await?;
        let passes = scrape.sum("fedhub_reconciles_total", &[]);
        let engaged = scrape.sum("fedhub_planes", &[("state", &["engaged"])]);
        // Straight after a start nothing waits yet: everything has to have been looked at.
        let looks = passes + scrape.sum("fedhub_reconciles_skipped_total", &[]);
        let begun = looks >= scrape.sum("fedhub_objects", &[]);
        if engaged >= super::stats::number(planes) && begun && waiting(&scrape) == 0.0 {
            return Ok(passes);
        }
        Err(NotYet::again(format!("{engaged} engaged, {passes} passes, {} wait", waiting(&scrape))))
    }

    /// Its current metrics.
    pub async fn scrape(&self) -> Result<Scrape, Error> {
        scrape(self.port).await
    }

    /// How much a scrape is: samples, and bytes.
    pub async fn scrape_size(&self) -> Result<[f64; 2], Error> {
        let page = page(self.port).await?;
        let samples = page.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).count();
        Ok([samples, page.len()].map(super::stats::number))
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: Signal) -> Result<(), Error> {
        // Not reaped before it is waited for, so the PID is its own.
        kill(Pid::from_raw(self.pid), signal)
            .map_err(|error| Error::Benchmark(format!("cannot send {signal} to fedhub: {error}")))
    }

    /// Asks it to end and waits until it has.
    pub async fn stop(mut self) -> Result<(), Error> {
        self.signal(Signal::SIGTERM)?;
        self.ended().await
    }

    /// Waits until it has ended.
    pub async fn ended(&mut self) -> Result<(), Error> {
        match tokio::time::timeout(PATIENCE, self.child.wait()).await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(cause)) => Err(Error::File { action: "wait for", path: self.log.clone(), cause }),
            Err(_) => Err(Error::Benchmark(format!("fedhub does not end: {}", self.log.display()))),
        }
    }

    /// Memory that is resident, in bytes.
    pub fn resident(&self) -> Result<f64, Error> {
        self.memory("VmRSS:")
    }

    /// Memory that is resident once it has given back what a burst took, in bytes: it was no lower a second
    /// later.
    pub async fn steady(&self) -> Result<f64, Error> {
        const LOOK: Duration = Duration::from_secs(1);
        let before = std::cell::Cell::new(f64::INFINITY);
        until("memory to be given back", PATIENCE, || async {
            let now = self.resident().map_err(NotYet::Never)?;
            tokio::time::sleep(LOOK).await;
            if now > before.replace(now) * 0.99 {
                Ok(now)
            } else {
                Err(NotYet::again(format!("{now} bytes")))
            }
        })
        .await
    }

    /// The most memory that was resident since its start, or since [`Self::forget_peak`], in bytes.
    pub fn peak(&self) -> Result<f64, Error> {
        self.memory("VmHWM:")
    }

    /// Resets the peak to the memory that is resident now.
    pub fn forget_peak(&self) -> Result<(), Error> {
        let path = self.proc("clear_refs");
        fs::write(&path, "5").map_err(Error::file("write", path))
    }

    /// Processor time that it has used, its threads together.
    pub fn cpu(&self) -> Result<Duration, Error> {
        let path = self.proc("stat");
        let line = fs::read_to_string(&path).map_err(Error::file("read", &path))?;
        processor_time(&line).ok_or_else(|| unreadable(&path))
    }

    /// TCP connections that it has open to a port of this machine.
    pub fn connections_to(&self, port: u16) -> Result<usize, Error> {
        let path = self.proc("net/tcp");
        let table = fs::read_to_string(&path).map_err(Error::file("read", &path))?;
        let sockets = self.sockets()?;
        Ok(established(&table, port).filter(|inode| sockets.contains(inode)).count())
    }

    /// How many lines it has logged.
    pub fn log_lines(&self) -> Result<usize, Error> {
        let log = fs::read_to_string(&self.log).map_err(Error::file("read", &self.log))?;
        Ok(log.lines().count())
    }

    /// The port of its metrics.
    pub fn port(&self) -> u16 {
        self.port
    }

    fn sockets(&self) -> Result<Vec<u64>, Error> {
        let path = self.proc("fd");
        let entries = fs::read_dir(&path).map_err(Error::file("read", &path))?;
        let links = entries.flatten().filter_map(|entry| fs::read_link(entry.path()).ok());
        Ok(links
            .filter_map(|link| link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok())
            .collect())
    }

    fn memory(&self, field: &str) -> Result<f64, Error> {
        let path = self.proc("status");
        let status = fs::read_to_string(&path).map_err(Error::file("read", &path))?;
        kibibytes(&status, field).map(|kibibytes| kibibytes * 1024.0).ok_or_else(|| unreadable(&path))
    }

    fn proc(&self, file: &str) -> PathBuf {
        PathBuf::from(format!("/proc/{}/{file}", self.pid))
    }

    /// An error once it has ended.
    pub fn alive(&mut self) -> Result<(), Error> {
        if let Ok(None) = self.child.try_wait() {
            return Ok(());
        }
        let content = fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<_> = content.lines().collect();
        let tail = lines[lines.len().saturating_sub(15)..].join("\n");
        Err(Error::ProcessEnded { process: "fedhub".to_owned(), log: self.log.clone(), tail })
    }
}

/// Scrapes the process with its metrics on this port.
pub async fn scrape(port: u16) -> Result<Scrape, Error> {
    Ok(Scrape::parse(&page(port).await?))
}

async fn page(port: u16) -> Result<String, Error> {
    metrics(port).await.map_err(|error| Error::Timeout {
        what: "metrics".to_owned(),
        seconds: 0,
        last: error.to_string(),
    })
}

/// Keys that are to be worked on. What the projector has pending includes Instances whose grace runs.
fn waiting(scrape: &Scrape) -> f64 {
    scrape.sum("fedhub_queue_depth", &[])
        + scrape.sum("fedhub_objects", &[("controller", &["federator"]), ("state", &["pending"])])
        + scrape.sum("fedhub_oldest_unsynced_seconds", &[("controller", &["projector"])])
}

fn unreadable(path: &Path) -> Error {
    Error::Benchmark(format!("{} is not as expected", path.display()))
}

/// Fields 14 and 15 of `/proc/PID/stat`: ticks in user and in system mode. Field 2 may hold any character.
fn processor_time(line: &str) -> Option<Duration> {
    let mut fields = line.get(line.rfind(')')? + 1..)?.split_whitespace().skip(11);
    let user = fields.next()?.parse::<u32>().ok()?;
    let system = fields.next()?.parse::<u32>().ok()?;
    Some(TICK * (user + system))
}

fn kibibytes(status: &str, field: &str) -> Option<f64> {
    status.lines().find_map(|line| line.strip_prefix(field)?.trim().strip_suffix(" kB")?.trim().parse().ok())
}

/// The inodes of the sockets in `/proc/net/tcp` that are connected to a port.
fn established(table: &str, port: u16) -> impl Iterator<Item = u64> {
    table.lines().filter_map(move |line| {
        let fields: Vec<_> = line.split_whitespace().collect();
        let (_, to) = fields.get(2)?.split_once(':')?;
        let connected = *fields.get(3)? == "01" && u16::from_str_radix(to, 16) == Ok(port);
        connected.then(|| fields.get(9)?.parse().ok()).flatten()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_kinds_of_processor_time_count() {
        let line = "42 (a) b (c) S 1 42 42 0 -1 4194304 1 2 3 4 150 25 9 9 20 0 1 0 987654 1 1";
        assert_eq!(processor_time(line), Some(Duration::from_millis(1750)));
        assert_eq!(processor_time("42 (a"), None);
    }

    #[test]
    fn memory_is_read_by_its_field() {
        let status = "Name:\tfedhub\nVmHWM:\t   20480 kB\nVmRSS:\t   10240 kB\n";
        assert_eq!(kibibytes(status, "VmRSS:"), Some(10_240.0));
        assert_eq!(kibibytes(status, "VmHWM:"), Some(20_480.0));
        assert_eq!(kibibytes(status, "VmSwap:"), None);
    }

    #[test]
    fn only_connections_to_the_port_that_stand_count() {
        let table = "\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:9C40 0100007F:1F90 01 00000000:00000000 00:00000000 00000000     0        0 111 1
   1: 0100007F:1F90 0100007F:9C40 01 00000000:00000000 00:00000000 00000000     0        0 222 1
   2: 0100007F:9C41 0100007F:1F90 06 00000000:00000000 00:00000000 00000000     0        0 333 1";
        assert_eq!(established(table, 8080).collect::<Vec<_>>(), [111]);
    }
}
