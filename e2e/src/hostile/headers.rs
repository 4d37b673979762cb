//! An answer whose headers do not end. No HTTP library sends one, so its bytes are made here.

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// The length of what a client sends before its first frame.
const PREFACE: usize = 24;
/// The header of a frame: length (three bytes), type, flags, stream (four bytes).
const FRAME: usize = 9;
const HEADERS: u8 = 1;
const SETTINGS: u8 = 4;
const CONTINUATION: u8 = 9;
/// The header `:status: 200`, as HPACK has it in its table.
const STATUS_OK: u8 = 0x88;
/// How many headers are sent at a time: what fits into a frame that every client takes.
const HEADERS_AT_ONCE: usize = 100;
const NAME: &str = "x-endless";

/// Reads a request and answers it with headers until the caller goes, which is an error. `met` is called once
/// it was read.
pub async fn flood<S>(stream: S, http2: bool, met: impl Fn()) -> io::Result<()>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    if http2 { over_http2(stream, met).await } else { over_http1(stream, met).await }
}

async fn over_http1(mut stream: impl AsyncRead + AsyncWrite + Unpin, met: impl Fn()) -> io::Result<()> {
    let mut request = Vec::new();
    while !request.windows(4).any(|end| end == b"\r\n\r\n") {
        if stream.read_buf(&mut request).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
    met();
    stream.write_all(b"HTTP/1.1 200 OK\r\n").await?;
    let lines = format!("{NAME}: {}\r\n", value()).repeat(HEADERS_AT_ONCE);
    loop {
        stream.write_all(lines.as_bytes()).await?;
        stream.flush().await?;
    }
}

/// A HEADERS frame that is not the end of its headers, and CONTINUATION frames, none of which is either.
async fn over_http2(mut stream: impl AsyncRead + AsyncWrite + Unpin, met: impl Fn()) -> io::Result<()> {
    stream.read_exact(&mut [0; PREFACE]).await?;
    stream.write_all(&frame(SETTINGS, [0; 4], &[])).await?;
    stream.flush().await?;
    let id = request(&mut stream).await?;
    met();
    stream.write_all(&frame(HEADERS, id, &[STATUS_OK])).await?;
    let more = frame(CONTINUATION, id, &literal().repeat(HEADERS_AT_ONCE));
    loop {
        stream.write_all(&more).await?;
        stream.flush().await?;
    }
}

/// Reads frames up to the first one that begins a request; the stream that it is on.
async fn request(stream: &mut (impl AsyncRead + Unpin)) -> io::Result<[u8; 4]> {
    loop {
        let mut header = [0; FRAME];
        stream.read_exact(&mut header).await?;
        let [a, b, c, kind, _, id @ ..] = header;
        let mut payload = vec![0; u32::from_be_bytes([0, a, b, c]) as usize];
        stream.read_exact(&mut payload).await?;
        if kind == HEADERS {
            return Ok(id);
        }
    }
}

/// A frame without flags.
fn frame(kind: u8, stream: [u8; 4], payload: &[u8]) -> Vec<u8> {
    let [_, a, b, c] = u32::try_from(payload.len()).unwrap_or(u32::MAX).to_be_bytes();
    [&[a, b, c, kind, 0][..], &stream, payload].concat()
}

/// A header as HPACK writes one that is in no table: a zero, then name and value, each after its length.
fn literal() -> Vec<u8> {
    let mut header = vec![0];
    for text in [NAME, &value()] {
        header.push(u8::try_from(text.len()).unwrap_or_default());
        header.extend(text.bytes());
    }
    header
}

fn value() -> String {
    "x".repeat(100)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use tokio::io::duplex;

    use super::*;

    #[tokio::test]
    async fn headers_over_http2_go_on_in_frames_that_are_not_their_end() {
        let (mut client, server) = duplex(1 << 16);
        let met = Cell::new(0);
        let asks = async {
            client.write_all(&[b' '; PREFACE]).await.unwrap();
            client.write_all(&frame(SETTINGS, [0; 4], &[0; 6])).await.unwrap();
            client.write_all(&frame(HEADERS, [0, 0, 0, 1], b"asked")).await.unwrap();
            let mut frames = Vec::new();
            for _ in 0..200 {
                let mut header = [0; FRAME];
                client.read_exact(&mut header).await.unwrap();
                let [a, b, c, kind, flags, id @ ..] = header;
                let mut payload = vec![0; u32::from_be_bytes([0, a, b, c]) as usize];
                client.read_exact(&mut payload).await.unwrap();
                assert!(payload.len() <= 1 << 14, "{}", payload.len());
                frames.push((kind, flags, u32::from_be_bytes(id)));
            }
            drop(client);
            frames
        };
        let (frames, flooded) = tokio::join!(asks, flood(server, true, || met.set(met.get() + 1)));
        assert_eq!(frames[..2], [(SETTINGS, 0, 0), (HEADERS, 0, 1)]);
        assert!(frames[2..].iter().all(|frame| *frame == (CONTINUATION, 0, 1)));
        assert!(flooded.is_err());
        assert_eq!(met.get(), 1);
    }

    #[tokio::test]
    async fn headers_over_http1_go_on_without_an_empty_line() {
        let (mut client, server) = duplex(1 << 16);
        let asks = async {
            client.write_all(b"GET / HTTP/1.1\r\n\r\n").await.unwrap();
            let mut sent = vec![0; 1 << 20];
            client.read_exact(&mut sent).await.unwrap();
            drop(client);
            String::from_utf8(sent).unwrap()
        };
        let (sent, flooded) = tokio::join!(asks, flood(server, false, || ()));
        assert!(sent.starts_with("HTTP/1.1 200 OK\r\nx-endless: x") && !sent.contains("\r\n\r\n"));
        assert!(flooded.is_err());
    }
}
