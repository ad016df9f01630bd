//! A web server that answers Range requests as each test tells it to.

use std::net::SocketAddr;
use std::ops::Range;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;

/// How long a test waits for what must happen: never, unless something is broken.
pub(crate) const PATIENCE: Duration = Duration::from_mins(1);

/// A request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Ask {
    pub(crate) path: String,
    /// The bytes that are asked for, the end excluded.
    pub(crate) range: Range<usize>,
    pub(crate) if_match: Option<String>,
    pub(crate) if_none_match: Option<String>,
    /// Requests before this one.
    pub(crate) n_before: usize,
}

/// What a request is answered with.
pub(crate) struct Reply {
    bytes: Vec<u8>,
    is_open: bool,
}

impl Reply {
    /// These bytes, head included; then the connection is closed.
    pub(crate) fn raw(bytes: Vec<u8>) -> Self {
        Self { bytes, is_open: false }
    }

    /// These bytes, then nothing, and the connection stays open.
    pub(crate) fn hang(bytes: Vec<u8>) -> Self {
        Self { bytes, is_open: true }
    }
}

/// A complete answer: a status line without the version, header lines, and a body of the length that it says.
pub(crate) fn answer(status: &str, headers: &str, body: &[u8]) -> Reply {
    let headers = format!("Content-Length: {}\r\n{headers}", body.len());
    Reply::raw([head(status, &headers), body.to_vec()].concat())
}

/// The head of an answer.
pub(crate) fn head(status: &str, headers: &str) -> Vec<u8> {
    format!("HTTP/1.1 {status}\r\nConnection: close\r\n{headers}\r\n").into_bytes()
}

/// What a server without faults answers; `headers` are its ETag, Last-Modified and the like.
pub(crate) fn part(file: &[u8], ask: &Ask, headers: &str) -> Reply {
    let wrong_tag = ask.if_match.as_ref().is_some_and(|tag| !headers.contains(tag.as_str()));
    if wrong_tag {
        return answer("412 Precondition Failed", headers, b"");
    }
    if ask.if_none_match.as_ref().is_some_and(|tag| headers.contains(tag.as_str())) {
        return answer("304 Not Modified", headers, b"");
    }
    let Range { start, end } = ask.range;
    let end = end.min(file.len());
    if start >= end {
        let headers = format!("Content-Range: bytes */{}\r\n{headers}", file.len());
        return answer("416 Range Not Satisfiable", &headers, b"");
    }
    let headers = format!("Content-Range: bytes {start}-{}/{}\r\n{headers}", end - 1, file.len());
    answer("206 Partial Content", &headers, &file[start..end])
}

/// A running server. Dropping it closes every connection.
pub(crate) struct Server {
    _runtime: Runtime,
    address: SocketAddr,
    asked: Arc<Mutex<Vec<Ask>>>,
    left: Receiver<Ask>,
}

impl Server {
    pub(crate) fn start(reply: impl Fn(&Ask) -> Reply + Send + Sync + 'static) -> Self {
        let runtime = Runtime::new().unwrap();
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let (sender, left) = sync_channel(1_024);
        let (shared, reply) = (Arc::clone(&asked), Arc::new(reply));
        runtime.spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let (shared, reply, sender) = (Arc::clone(&shared), Arc::clone(&reply), sender.clone());
                tokio::spawn(async move {
                    // A client that leaves in the middle is what some of these tests are about.
                    let _ = serve(stream, &shared, reply.as_ref(), &sender).await;
                });
            }
        });
        Self { _runtime: runtime, address, asked, left }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// The requests so far.
    pub(crate) fn asked(&self) -> Vec<Ask> {
        self.asked.lock().unwrap().clone()
    }

    /// The next request that was left hanging and that the client has gone from.
    pub(crate) fn next_left(&self) -> Ask {
        self.left.recv_timeout(PATIENCE).expect("the client should have gone")
    }
}

async fn serve(
    mut stream: TcpStream,
    asked: &Mutex<Vec<Ask>>,
    reply: &(dyn Fn(&Ask) -> Reply + Send + Sync),
    left: &SyncSender<Ask>,
) -> std::io::Result<()> {
    let mut request = Vec::new();
    while !request.ends_with(b"\r\n\r\n") {
        request.push(stream.read_u8().await?);
    }
    let request = String::from_utf8_lossy(&request).into_owned();
    let header = |name: &str| {
        let mut lines = request.lines().filter_map(|line| line.split_once(": "));
        lines.find(|(found, _)| found.eq_ignore_ascii_case(name)).map(|(_, value)| value.to_owned())
    };
    let range = header("range").unwrap_or_default();
    let (first, last) = range.trim_start_matches("bytes=").split_once('-').unwrap_or(("0", "0"));
    let ask = {
        let mut asked = asked.lock().unwrap();
        let ask = Ask {
            path: request.split(' ').nth(1).unwrap_or_default().to_owned(),
            range: first.parse().unwrap()..last.parse::<usize>().unwrap() + 1,
            if_match: header("if-match"),
            if_none_match: header("if-none-match"),
            n_before: asked.len(),
        };
        asked.push(ask.clone());
        ask
    };
    let Reply { bytes, is_open } = reply(&ask);
    stream.write_all(&bytes).await?;
    stream.flush().await?;
    if !is_open {
        return stream.shutdown().await;
    }
    // Comes back when the client goes, by closing or by a reset.
    let _ = stream.read_u8().await;
    let _ = left.send(ask);
    Ok(())
}
