//! HTTPS in front of a server: its certificate is signed by `tests/fixtures/tls_ca.pem`, which no system trusts.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

use voxatlas::source::{HttpOptions, Source, SourceConfig, SourceError};

use crate::server::{Server, answer};
use crate::{config, key};

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

/// Hands on what it decrypts. Dropping it closes every connection.
struct Front {
    _runtime: Runtime,
    port: u16,
}

impl Front {
    fn of(server: &Server) -> Self {
        let runtime = Runtime::new().unwrap();
        let certificates = vec![CertificateDer::from_pem_file(fixture("tls_server.pem")).unwrap()];
        let private = PrivateKeyDer::from_pem_file(fixture("tls_server.key")).unwrap();
        let tls = ServerConfig::builder().with_no_client_auth().with_single_cert(certificates, private).unwrap();
        let acceptor = TlsAcceptor::from(Arc::new(tls));
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let (port, behind) = (listener.local_addr().unwrap().port(), server.address());
        runtime.spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let acceptor = acceptor.clone();
                tokio::spawn(async move {
                    // A client that does not trust us leaves in the middle of the greeting.
                    let mut stream = acceptor.accept(stream).await?;
                    let mut behind = TcpStream::connect(behind).await?;
                    tokio::io::copy_bidirectional(&mut stream, &mut behind).await
                });
            }
        });
        Self { _runtime: runtime, port }
    }
}

#[test]
fn a_certificate_of_ones_own_is_trusted_where_the_user_says_so() {
    let document = voxatlas::atlas::Tileset::of_template("{z}/{x}/{y}.png").unwrap().to_json();
    let server = Server::start([("/tiles.json".to_owned(), vec![answer("200 OK", "", document.as_bytes())])]);
    let front = Front::of(&server);
    let open = |ca_file: Option<PathBuf>, host: &str| {
        let mut http = HttpOptions::default();
        http.ca_file = ca_file;
        Source::open_blocking(&format!("https://{host}:{}", front.port), &SourceConfig { http, ..config() })
    };
    for host in ["localhost", "127.0.0.1"] {
        let source = open(Some(fixture("tls_ca.pem")), host).unwrap();
        assert_eq!(source.tileset().path_of(key(0)).as_deref(), Some("17/0/0.png"));
    }
    let error = open(None, "localhost").unwrap_err();
    let text = error.to_string();
    assert!(matches!(error, SourceError::Unreadable { .. }) && text.to_lowercase().contains("certificate"), "{text}");
    assert_eq!(server.hits("/tiles.json"), 2);
}
