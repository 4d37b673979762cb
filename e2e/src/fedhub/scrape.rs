//! What fedhub's metrics page reports.

use std::io;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// How long an answer may take: a process that is paused gives none.
const ANSWER: Duration = Duration::from_secs(2);

/// Whether a process leads in all of its roles, by a scrape. The release before had one series without a
/// role.
pub fn leads(metrics: &str) -> bool {
    let mut series = metrics
        .lines()
        .filter_map(|line| line.strip_prefix("fedhub_leader"))
        .filter(|rest| rest.starts_with([' ', '{']))
        .peekable();
    series.peek().is_some() && series.all(|it| it.ends_with(" 1"))
}

/// A scrape.
pub async fn metrics(port: u16) -> io::Result<String> {
    get(port, "/metrics").await
}

/// The body of an answer on this machine.
pub async fn get(port: u16, path: &str) -> io::Result<String> {
    let asked = async {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).await?;
        stream.write_all(format!("GET {path} HTTP/1.0\r\nHost: localhost\r\n\r\n").as_bytes()).await?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await?;
        io::Result::Ok(answer)
    };
    let answer =
        tokio::time::timeout(ANSWER, asked).await.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))??;
    Ok(answer.split_once("\r\n\r\n").map(|(_, body)| body.to_owned()).unwrap_or_default())
}

/// The value of a sample of a scrape, by its name with all its labels.
pub fn sample(metrics: &str, name: &str) -> Option<f64> {
    metrics.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.trim().parse().ok())
}

/// The sum of the samples whose names begin so.
pub fn total(metrics: &str, prefix: &str) -> f64 {
    let values = metrics.lines().filter(|line| line.starts_with(prefix));
    values.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_is_found_by_its_whole_name() {
        let metrics = "# TYPE fedhub_planes gauge\nfedhub_planes{state=\"engaged\"} 2\nfedhub_planesx 3\n";
        assert_eq!(sample(metrics, "fedhub_planes{state=\"engaged\"}"), Some(2.0));
        assert_eq!(sample(metrics, "fedhub_planes"), None);
    }

    #[test]
    fn a_process_of_two_roles_leads_in_both() {
        let of = |management: u8, cell: u8| {
            format!(
                "fedhub_leader{{role=\"cell\"}} {cell}\nfedhub_leader{{role=\"management\"}} {management}\n"
            )
        };
        assert!(leads(&of(1, 1)) && leads("fedhub_leader 1\n"));
        assert!(
            !leads(&of(0, 1))
                && !leads(&of(1, 0))
                && !leads("fedhub_leader 0\n")
                && !leads("fedhub_leaders 1\n")
        );
    }
}
