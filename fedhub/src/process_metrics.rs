//! The metrics `process_*`, as client libraries of Prometheus name them: CPU, memory, file descriptors, start
//! time.

use fedhub_core::metrics::encoded;
use procfs::process::{LimitValue, Process};
use prometheus::core::Collector;
use prometheus::{Counter, Error, IntGauge, Registry};

/// The metrics of the process itself, in a registry without prefix.
pub struct ProcessMetrics {
    registry: Registry,
    cpu: Counter,
    resident: IntGauge,
    virtual_memory: IntGauge,
    open_files: IntGauge,
    max_files: IntGauge,
    threads: IntGauge,
    start: IntGauge,
}

impl ProcessMetrics {
    /// All of them, registered.
    pub fn new() -> Result<Self, Error> {
        let registry = Registry::new();
        let gauge = |name, help| registered(&registry, IntGauge::new(name, help)?);
        let cpu =
            Counter::new("process_cpu_seconds_total", "Time of processors, in user and in system mode.")?;
        Ok(Self {
            cpu: registered(&registry, cpu)?,
            resident: gauge("process_resident_memory_bytes", "Resident memory.")?,
            virtual_memory: gauge("process_virtual_memory_bytes", "Virtual memory.")?,
            open_files: gauge("process_open_fds", "Open file descriptors.")?,
            max_files: gauge("process_max_fds", "Most file descriptors that may be open.")?,
            threads: gauge("process_threads", "Threads.")?,
            start: gauge("process_start_time_seconds", "Unix time of the start.")?,
            registry,
        })
    }

    /// The text of a scrape: what the kernel says now.
    pub fn encode(&self) -> Result<String, Error> {
        // If /proc cannot be read, the last values are kept.
        if let Ok(process) = Process::myself() {
            self.read(&process);
        }
        encoded(&self.registry.gather())
    }

    #[allow(clippy::cast_precision_loss)] // Ticks since the start are far from 2^52.
    fn read(&self, process: &Process) {
        let number = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
        if let Ok(stat) = process.stat() {
            let ticks = procfs::ticks_per_second();
            let used = (stat.utime + stat.stime) as f64 / ticks as f64;
            // Another scrape may have been faster: a counter does not go back.
            self.cpu.inc_by((used - self.cpu.get()).max(0.0));
            self.resident.set(number(stat.rss.saturating_mul(procfs::page_size())));
            self.virtual_memory.set(number(stat.vsize));
            self.threads.set(stat.num_threads);
            if let Ok(boot) = procfs::boot_time_secs() {
                self.start.set(number(boot + stat.starttime / ticks));
            }
        }
        if let Ok(files) = process.fd_count() {
            self.open_files.set(number(files as u64));
        }
        if let Ok(limits) = process.limits()
            && let LimitValue::Value(most) = limits.max_open_files.soft_limit
        {
            self.max_files.set(number(most));
        }
    }
}

fn registered<M: Collector + Clone + 'static>(registry: &Registry, metric: M) -> Result<M, Error> {
    registry.register(Box::new(metric.clone()))?;
    Ok(metric)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_process_shows_what_it_takes() {
        let metrics = ProcessMetrics::new().unwrap();
        let value = |name: &str| -> f64 {
            let text = metrics.encode().unwrap();
            let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
            line.unwrap_or_else(|| panic!("{name}: {text}")).parse().unwrap()
        };
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs_f64();
        let start = value("process_start_time_seconds");
        assert!(start > now - 24.0 * 3600.0 && start <= now + 2.0, "{start} {now}");
        assert!(value("process_resident_memory_bytes") > 1_000_000.0);
        assert!(value("process_virtual_memory_bytes") >= value("process_resident_memory_bytes"));
        assert!(value("process_open_fds") >= 3.0 && value("process_open_fds") <= value("process_max_fds"));
        assert!(value("process_threads") >= 1.0);
        let before = value("process_cpu_seconds_total");
        let began = std::time::Instant::now();
        while value("process_cpu_seconds_total") <= before && began.elapsed().as_secs() < 60 {}
        assert!(value("process_cpu_seconds_total") > before);
    }
}
