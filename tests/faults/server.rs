//! A web server that misbehaves on purpose.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;

/// How long a test waits for what must happen: never, unless something is broken.
pub(crate) const PATIENCE: Duration = Duration::from_mins(1);

/// What a path is answered with.
#[derive(Clone)]
pub(crate) enum Answer {
    /// These bytes, head included; then the connection is closed.
    Raw(Vec<u8>),
    /// These bytes, then nothing, and the connection stays open.
    Hang(Vec<u8>),
    /// These bytes, then this many more every 20 ms, for ever.
    Drip(Vec<u8>, usize),
    /// The first bytes, then the others in pieces of so many every 20 ms.
    Trickle(Vec<u8>, Vec<u8>, usize),
    /// These bytes, then a reset.
    Reset(Vec<u8>),
}

/// A complete answer: a status line without the version, header lines, and a body of the length that it says.
pub(crate) fn answer(status: &str, headers: &str, body: &[u8]) -> Answer {
    let headers = format!("Content-Length: {}\r\n{headers}", body.len());
    Answer::Raw([head(status, &headers), body.to_vec()].concat())
}

/// The head of an answer.
pub(crate) fn head(status: &str, headers: &str) -> Vec<u8> {
    format!("HTTP/1.1 {status}\r\nConnection: close\r\n{headers}\r\n").into_bytes()
}

/// A running server. Dropping it closes every connection.
pub(crate) struct Server {
    runtime: Option<Runtime>,
    address: SocketAddr,
    shared: Arc<Shared>,
    happened: Receiver<Happened>,
}

struct Shared {
    /// By path; answers are given in turn, the last one for ever.
    answers: HashMap<String, Vec<Answer>>,
    /// Heads of the requests by path, in the order in which they came.
    requests: Mutex<HashMap<String, Vec<String>>>,
    happened: SyncSender<Happened>,
}

/// What a server that hangs has seen.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Happened {
    /// A request that it leaves hanging.
    Asked(String),
    /// The client has closed that request's connection.
    Left(String),
}

impl Server {
    pub(crate) fn start(answers: impl IntoIterator<Item = (String, Vec<Answer>)>) -> Self {
        let runtime = Runtime::new().unwrap();
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap();
        let (sender, happened) = sync_channel(1_024);
        let answers = answers.into_iter().collect();
        let shared = Arc::new(Shared { answers, requests: Mutex::default(), happened: sender });
        let server = Self { runtime: Some(runtime), address, shared: Arc::clone(&shared), happened };
        server.runtime.as_ref().unwrap().spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                // A client that leaves in the middle is what these tests are about.
                tokio::spawn(serve(stream, Arc::clone(&shared)));
            }
        });
        server
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Requests for a path so far.
    pub(crate) fn hits(&self, path: &str) -> usize {
        self.requests(path).len()
    }

    /// The heads of the requests for a path so far, in lower case.
    pub(crate) fn requests(&self, path: &str) -> Vec<String> {
        self.shared.requests.lock().unwrap().get(path).cloned().unwrap_or_default()
    }

    /// Requests for any path so far.
    pub(crate) fn n_requests(&self) -> usize {
        self.shared.requests.lock().unwrap().values().map(Vec::len).sum()
    }

    /// The next thing that happens at a path that hangs.
    pub(crate) fn next_happened(&self) -> Happened {
        self.happened.recv_timeout(PATIENCE).expect("a request should have come or gone")
    }

    /// Closes the socket and every connection.
    pub(crate) fn kill(&mut self) {
        drop(self.runtime.take());
    }
}

async fn serve(mut stream: TcpStream, shared: Arc<Shared>) -> std::io::Result<()> {
    let mut request = Vec::new();
    while !request.ends_with(b"\r\n\r\n") {
        request.push(stream.read_u8().await?);
    }
    let request = String::from_utf8_lossy(&request).into_owned();
    let path = request.split(' ').nth(1).unwrap_or_default().to_owned();
    let hit = {
        let mut requests = shared.requests.lock().unwrap();
        let of_path = requests.entry(path.clone()).or_default();
        of_path.push(request.to_lowercase());
        of_path.len() - 1
    };
    let answers = shared.answers.get(&path).map(Vec::as_slice).unwrap_or_default();
    let not_found = answer("404 Not Found", "Content-Type: text/html\r\n", b"<html>no such tile</html>");
    match answers.get(hit).or(answers.last()).unwrap_or(&not_found) {
        Answer::Raw(bytes) => {
            stream.write_all(bytes).await?;
            stream.shutdown().await
        }
        Answer::Hang(bytes) => {
            stream.write_all(bytes).await?;
            stream.flush().await?;
            let _ = shared.happened.send(Happened::Asked(path.clone()));
            // Comes back when the client goes, by closing or by a reset.
            let _ = stream.read_u8().await;
            let _ = shared.happened.send(Happened::Left(path));
            Ok(())
        }
        Answer::Drip(bytes, n_bytes) => {
            stream.write_all(bytes).await?;
            loop {
                tokio::time::sleep(Duration::from_millis(20)).await;
                stream.write_all(&vec![0; *n_bytes]).await?;
                stream.flush().await?;
            }
        }
        Answer::Trickle(bytes, body, n_bytes) => {
            stream.write_all(bytes).await?;
            for piece in body.chunks(*n_bytes) {
                tokio::time::sleep(Duration::from_millis(20)).await;
                stream.write_all(piece).await?;
                stream.flush().await?;
            }
            stream.shutdown().await
        }
        Answer::Reset(bytes) => {
            stream.write_all(bytes).await?;
            stream.flush().await?;
            stream.set_zero_linger()
        }
    }
}
