//! A connection to a plane that a suite can cut: what comes to its port is forwarded to the plane's, byte by
//! byte. While its process is paused (SIGSTOP) nothing passes, and neither end is notified.

use std::path::Path;
use std::{fs, io};

use kube::config::Kubeconfig;
use tokio::net::{TcpListener, TcpStream};

use crate::Error;
use crate::topology::write_atomically;

/// A line that is open.
pub struct Link {
    listener: TcpListener,
    to: String,
}

impl Link {
    /// Listens, and writes `file`: the kubeconfig `from`, but by way of this line.
    pub async fn listen(from: &Path, file: &Path) -> Result<Self, Error> {
        let wrong = |problem: &str| Error::Manifest { path: from.to_owned(), problem: problem.to_owned() };
        let text = fs::read_to_string(from).map_err(Error::file("read", from))?;
        let kubeconfig = Kubeconfig::from_yaml(&text).map_err(|error| wrong(&error.to_string()))?;
        let cluster = kubeconfig.clusters.into_iter().find_map(|named| named.cluster);
        let server = cluster.and_then(|cluster| cluster.server).ok_or_else(|| wrong("no server"))?;
        let to = server.strip_prefix("https://").ok_or_else(|| wrong("a server without TLS"))?.to_owned();
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.map_err(Error::file("listen for", file))?;
        let own = listener.local_addr().map_err(Error::file("listen for", file))?;
        write_atomically(file, text.replace(&server, &format!("https://{own}")).as_bytes())?;
        Ok(Self { listener, to })
    }

    /// Passes on what comes, for as long as the future is polled.
    pub async fn serve(self) {
        loop {
            let Ok((stream, _)) = self.listener.accept().await else { return };
            tokio::spawn(pass_on(stream, self.to.clone()));
        }
    }
}

/// An end that breaks off is passed on too, by letting go of the other.
async fn pass_on(mut from: TcpStream, to: String) -> io::Result<()> {
    let mut to = TcpStream::connect(to).await?;
    tokio::io::copy_bidirectional(&mut from, &mut to).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    #[tokio::test]
    async fn what_comes_goes_on_and_back() {
        let scratch = tempfile::tempdir().unwrap();
        let from = scratch.path().join("from.yaml");
        let file = scratch.path().join("file.yaml");
        let server = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let at = server.local_addr().unwrap();
        let config = format!("{{clusters: [{{name: x, cluster: {{server: \"https://{at}\"}}}}]}}");
        fs::write(&from, config).unwrap();
        let link = Link::listen(&from, &file).await.unwrap();
        let own = link.listener.local_addr().unwrap();
        assert!(fs::read_to_string(&file).unwrap().contains(&own.to_string()));
        let serving = tokio::spawn(link.serve());
        let mut client = TcpStream::connect(own).await.unwrap();
        client.write_all(b"there").await.unwrap();
        let (mut accepted, _) = server.accept().await.unwrap();
        let mut read = [0; 5];
        accepted.read_exact(&mut read).await.unwrap();
        accepted.write_all(b"back!").await.unwrap();
        drop(accepted);
        client.read_exact(&mut read).await.unwrap();
        assert_eq!(&read, b"back!");
        serving.abort();
    }
}
