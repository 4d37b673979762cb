//! The server: plain HTTP/1.1, written by hand, since no library sends what it does.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

/// What the server does to any request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::VariantArray)]
pub enum Trick {
    /// It answers as it should.
    None,
    /// Eight mebibytes of maps of one short field, in the object.
    Maps,
    /// Eight mebibytes of maps of one short field, in the object's metadata.
    MapsInMetadata,
    /// Maps that take almost as much as the metadata of an object may.
    MapsWithin,
    /// Maps that take almost as much as an object may.
    ManyMapsWithin,
    /// Maps whose text is within the limit of an object, and which take ninety times that.
    MapsBeyond,
    /// Eight mebibytes of brackets.
    Deep,
    /// A string of eight mebibytes.
    Text,
    /// A string of almost as much as an object may have.
    TextWithin,
    /// White space without an end.
    Endless,
    /// Chunks of one byte without an end.
    Bytes,
    /// Headers without an end.
    Headers,
    /// Almost two hundred kilobytes of headers: hyper gives up between one and two times its limit.
    LongHeaders,
    /// An answer of which a byte comes now and then.
    Trickle,
    /// Pages without an end, with an object each.
    Pages,
    /// Pages without an end that have no object.
    EmptyPages,
    /// A page that is its own next one.
    SamePage,
    /// What is refused, with eight mebibytes of reasons.
    Refusal,
}

const SIZE: usize = 8 << 20;
const MAP: &str = "{\"a\":1},";

/// The text of an answer: what it begins with, what is repeated how often, and what it ends with.
struct Text {
    before: String,
    unit: &'static str,
    times: usize,
    after: String,
}

/// A server that does that to any request, and its address. It has a thread of its own: what is measured is
/// how long those who ask are kept from their work, not how busy it is.
pub fn start(trick: Trick) -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(accept(listener, trick));
    });
    address
}

async fn accept(listener: std::net::TcpListener, trick: Trick) {
    let listener = TcpListener::from_std(listener).unwrap();
    let requests = Arc::<AtomicUsize>::default();
    while let Ok((stream, _)) = listener.accept().await {
        let requests = requests.clone();
        tokio::spawn(async move {
            // Clients hang up, as they should.
            drop(serve(stream, trick, &requests).await);
        });
    }
}

async fn serve(stream: TcpStream, trick: Trick, requests: &AtomicUsize) -> io::Result<()> {
    let mut stream = BufReader::new(stream);
    loop {
        let mut line = String::new();
        let mut length = 0;
        stream.read_line(&mut line).await?;
        let asked = line.split(' ').nth(1).unwrap_or_default().to_owned();
        loop {
            let mut header = String::new();
            if stream.read_line(&mut header).await? <= 2 {
                break;
            }
            if let Some(value) = header.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
        }
        if asked.is_empty() {
            return Ok(());
        }
        let mut body = vec![0; length];
        stream.read_exact(&mut body).await?;
        let request = requests.fetch_add(1, Ordering::Relaxed);
        answer(stream.get_mut(), trick, &asked, request).await?;
    }
}

async fn answer(stream: &mut TcpStream, trick: Trick, asked: &str, request: usize) -> io::Result<()> {
    let status = if trick == Trick::Refusal { "403 Forbidden" } else { "200 OK" };
    stream.write_all(format!("HTTP/1.1 {status}\r\n").as_bytes()).await?;
    if trick == Trick::Headers {
        loop {
            stream.write_all(format!("x-{}: {}\r\n", "y".repeat(100), "z".repeat(1000)).as_bytes()).await?;
        }
    }
    if trick == Trick::LongHeaders {
        for header in 0..90 {
            stream.write_all(format!("x-{header}: {}\r\n", "z".repeat(2000)).as_bytes()).await?;
        }
    }
    stream.write_all(b"content-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n").await?;
    let Text { before, unit, times, after } = text(trick, asked, request);
    chunk(stream, before.as_bytes()).await?;
    let at_once = match trick {
        Trick::Bytes | Trick::Trickle => 1,
        _ => (16 << 10) / unit.len().max(1),
    };
    let mut sent = 0;
    while sent < times {
        let now = at_once.min(times - sent);
        chunk(stream, unit.repeat(now).as_bytes()).await?;
        sent += now;
        if trick == Trick::Trickle {
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }
    chunk(stream, after.as_bytes()).await?;
    stream.write_all(b"0\r\n\r\n").await
}

async fn chunk(stream: &mut TcpStream, data: &[u8]) -> io::Result<()> {
    if data.is_empty() {
        return Ok(());
    }
    let framed = [format!("{:x}\r\n", data.len()).as_bytes(), data, b"\r\n"].concat();
    stream.write_all(&framed).await
}

/// What is answered: an object, a page or a watch, with the trick in it.
fn text(trick: Trick, asked: &str, request: usize) -> Text {
    let is_list = asked.contains("limit=");
    let (open, close) = match () {
        () if asked.contains("watch=true") => ("{\"type\":\"ADDED\",\"object\":", "}\n"),
        () if is_list => (
            "{\"kind\":\"List\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":\"7\"},\"items\":[",
            "]}",
        ),
        () => ("", ""),
    };
    let object = |metadata: &str| {
        format!(
            "{open}{{\"apiVersion\":\"v1\",\"kind\":\"Status\",\"metadata\":{{\"name\":\"kube-system\",\"namespace\":\"n\",\
             \"uid\":\"u\",\"resourceVersion\":\"7\"{metadata}"
        )
    };
    let spec = |unit, times: usize| Text {
        before: object("},\"spec\":["),
        unit,
        times,
        after: format!("1]}}{close}"),
    };
    let token = if matches!(trick, Trick::Pages) { request.to_string() } else { "again".to_owned() };
    let page = |item: &str| {
        let metadata = format!("\"metadata\":{{\"resourceVersion\":\"7\",\"continue\":\"{token}\"}}");
        let before = format!("{{\"kind\":\"List\",\"apiVersion\":\"v1\",{metadata},\"items\":[{item}]}}");
        Text { before, unit: "", times: 0, after: String::new() }
    };
    let item = format!(
        "{{\"metadata\":{{\"name\":\"o{request}\",\"namespace\":\"n\",\"uid\":\"u{request}\",\"resourceVersion\":\"7\"}}}}"
    );
    match trick {
        Trick::Pages | Trick::SamePage if is_list => page(&item),
        Trick::EmptyPages if is_list => {
            Text { before: page("").before.replace("again", &request.to_string()), ..page("") }
        }
        Trick::None
        | Trick::Headers
        | Trick::LongHeaders
        | Trick::Pages
        | Trick::EmptyPages
        | Trick::SamePage => spec("", 0),
        Trick::Maps => spec(MAP, SIZE / MAP.len()),
        Trick::MapsWithin => spec(MAP, 5_000),
        Trick::ManyMapsWithin => spec(MAP, 20_000),
        Trick::MapsBeyond => spec(MAP, 480_000),
        Trick::MapsInMetadata => Text { before: object(",\"annotations\":["), ..spec(MAP, SIZE / MAP.len()) },
        Trick::Deep => spec("[", SIZE),
        Trick::Text | Trick::Refusal => {
            Text { before: object("},\"message\":\""), ..spec("xxxxxxxx", SIZE / 8) }
        }
        Trick::TextWithin => Text {
            before: object("},\"spec\":[\""),
            after: format!("\",1]}}{close}"),
            ..spec("xxxxxxxx", 490_000)
        },
        Trick::Endless => spec("        ", usize::MAX),
        Trick::Bytes | Trick::Trickle => spec("1", usize::MAX),
    }
}
