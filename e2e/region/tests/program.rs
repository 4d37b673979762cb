//! The program `fedhub-region`.

use std::fs;
use std::process::Stdio;

use fedhub_region::known;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::process::Command;

fn program(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fedhub-region"));
    command.args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    command
}

/// What a request for a token is answered, headers and all.
async fn token(url: &str, secret: &str) -> String {
    let address = url.strip_prefix("http://").unwrap();
    let mut tcp = TcpStream::connect(address).await.unwrap();
    let form = format!("grant_type=client_credentials&client_id=fedhub&client_secret={secret}");
    let length = form.len();
    let request = format!(
        "POST /oauth2/v2/token HTTP/1.1\r\nhost: region\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{form}"
    );
    tcp.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    tcp.read_to_string(&mut answer).await.unwrap();
    answer
}

#[tokio::test]
async fn it_says_where_it_is_and_ends_when_it_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let options = dir.path().join("options.json");
    let client = json!({"id": "fedhub", "secret": "of the file"});
    fs::write(&options, json!({"tokenLifetime": 7, "client": client}).to_string()).unwrap();
    for (flags, secret) in [(&[][..], "of+the+file"), (&["--client-secret", "of-the-flag"], "of-the-flag")] {
        let arguments = [&["--options", options.to_str().unwrap()], flags].concat();
        let mut child = program(&arguments).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).await.unwrap();
        let ready: Value = serde_json::from_str(&line).unwrap();
        let answer = token(ready["url"].as_str().unwrap(), secret).await;
        assert!(answer.starts_with("HTTP/1.1 200 OK") && answer.contains("\"expires_in\":7"), "{answer}");
        let pid = Pid::from_raw(i32::try_from(child.id().unwrap()).unwrap());
        kill(pid, Signal::SIGTERM).unwrap();
        assert!(child.wait().await.unwrap().success());
    }
}

#[tokio::test]
async fn it_writes_what_clients_need_where_connections_are_secured() {
    let dir = tempfile::tempdir().unwrap();
    let mut child = program(&["--tls-dir", dir.path().join("tls").to_str().unwrap()]).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).await.unwrap();
    assert!(line.contains("https://127.0.0.1:"), "{line}");
    for (file, begins) in
        [("ca.crt", "CERTIFICATE"), ("client.crt", "CERTIFICATE"), ("client.key", "PRIVATE")]
    {
        let text = fs::read_to_string(dir.path().join("tls").join(file)).unwrap();
        assert!(text.starts_with(&format!("-----BEGIN {begins}")), "{file}: {text}");
    }
    child.kill().await.unwrap();
}

#[tokio::test]
async fn it_prints_what_it_has_and_listens_to_nobody_else() {
    let printed = program(&["--ids"]).output().await.unwrap();
    assert_eq!(serde_json::from_slice::<Value>(&printed.stdout).unwrap(), known::ids());
    let refused = program(&["--listen", "0.0.0.0:0"]).output().await.unwrap();
    assert!(!refused.status.success());
    let words = String::from_utf8(refused.stderr).unwrap();
    assert!(words.contains("is not on the loopback address: choose one that is"), "{words}");
}
