//! The client of a server: its proxy, whom it trusts, and which servers hear the user's headers.

use std::net::IpAddr;

use http::HeaderMap;
use reqwest::{Certificate, Client, NoProxy, Proxy};
use url::{Host, Url};

use super::root_cause;
use crate::source::{HttpOptions, SourceError};

/// The server that the user's headers are meant for.
#[derive(Debug, Clone)]
pub(super) struct OwnServer(Option<Url>);

impl OwnServer {
    /// The server of a URL that the user has named; `None` where the user has named none.
    pub(super) fn of(url: Option<&Url>) -> Self {
        Self(url.cloned())
    }

    /// Whether a URL leads to it: the same host and port, or the same host's encrypted port instead of its plain one.
    pub(super) fn is_at(&self, url: &Url) -> bool {
        let Some(own) = &self.0 else { return false };
        let place = |url: &Url| (url.scheme().to_owned(), url.port_or_known_default());
        let is_upgrade =
            own.scheme() == "http" && own.port().is_none() && url.scheme() == "https" && url.port().is_none();
        own.host() == url.host() && (place(own) == place(url) || is_upgrade)
    }

    /// The user's headers, where they are meant for the server of a URL.
    pub(super) fn headers_for(&self, url: &Url, options: &HttpOptions) -> HeaderMap {
        if self.is_at(url) { options.headers().clone() } else { HeaderMap::new() }
    }
}

/// Builds the client that asks the server of `url` first.
pub(super) fn build(url: &Url, options: &HttpOptions) -> Result<Client, SourceError> {
    // Redirects are followed by hand: each hop has its own headers and its own place in the cache.
    let mut builder =
        Client::builder().user_agent(options.user_agent()).redirect(reqwest::redirect::Policy::none()).referer(false);
    if let Some(proxy) = &options.proxy {
        builder = builder.proxy(proxy_of(proxy)?);
    } else if is_loopback(url) {
        // A proxy that the environment names cannot reach this machine's own servers.
        builder = builder.no_proxy();
    }
    builder = builder.tls_certs_merge(certificates(options)?);
    builder.build().map_err(|error| SourceError::Client { reason: root_cause(&error) })
}

fn proxy_of(url: &Url) -> Result<Proxy, SourceError> {
    let bad = |what: String| SourceError::Option { option: "the proxy", what };
    if !matches!(url.scheme(), "http" | "https") {
        return Err(bad(format!("found the scheme {}:, expected http:// or https://", url.scheme())));
    }
    let proxy = Proxy::all(url.clone()).map_err(|error| bad(root_cause(&error)))?;
    Ok(proxy.no_proxy(NoProxy::from_env()))
}

fn certificates(options: &HttpOptions) -> Result<Vec<Certificate>, SourceError> {
    let Some(path) = &options.ca_file else { return Ok(Vec::new()) };
    let bad = |what: &str| SourceError::Option {
        option: "the certificates",
        what: format!("{}: {what}, expected a PEM file of certificates", path.display()),
    };
    let pem = std::fs::read(path).map_err(|error| bad(&error.to_string()))?;
    let certificates = Certificate::from_pem_bundle(&pem).map_err(|error| bad(&root_cause(&error)))?;
    if certificates.is_empty() {
        return Err(bad("found no certificate"));
    }
    Ok(certificates)
}

pub(super) fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name.eq_ignore_ascii_case("localhost"),
        Some(Host::Ipv4(address)) => IpAddr::from(address).is_loopback(),
        Some(Host::Ipv6(address)) => IpAddr::from(address).is_loopback(),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Url {
        Url::parse(text).unwrap()
    }

    #[test]
    fn headers_go_to_the_named_server_alone() {
        let check = |own: &str, asked: &str, expected: bool| {
            assert_eq!(OwnServer::of(Some(&url(own))).is_at(&url(asked)), expected, "{own} {asked}");
        };
        check("https://host/a", "https://host/b/c", true);
        check("https://host:443/", "https://host/", true);
        check("https://HOST/", "https://host/", true);
        check("http://host/", "https://host/", true);
        check("https://host/", "http://host/", false);
        check("http://host:8080/", "https://host/", false);
        check("http://host/", "https://host:8443/", false);
        check("https://host/", "https://host:8443/", false);
        check("https://host/", "https://www.host/", false);
        check("https://host/", "https://host.evil/", false);
        check("https://host/", "https://host@evil/", false);
        assert!(!OwnServer::of(None).is_at(&url("https://host/")));
    }

    #[test]
    fn options_that_no_client_can_have_are_named() {
        let check = |options: HttpOptions, expected: &str| {
            let error = build(&url("https://host/"), &options).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        };
        let with = |set: &dyn Fn(&mut HttpOptions)| {
            let mut options = HttpOptions::default();
            set(&mut options);
            options
        };
        let proxy = |text: &str| with(&|options| options.proxy = Some(url(text)));
        check(proxy("socks5://host:1080"), "the proxy: found the scheme socks5:, expected http:// or https://");
        let dir = tempfile::tempdir().unwrap();
        let ca = |name: &str, content: &str| {
            let path = dir.path().join(name);
            std::fs::write(&path, content).unwrap();
            with(&|options| options.ca_file = Some(path.clone()))
        };
        check(ca("empty.pem", ""), "empty.pem: found no certificate, expected a PEM file of certificates");
        check(ca("odd.pem", "-----BEGIN CERTIFICATE-----\nhello\n-----END CERTIFICATE-----\n"), "odd.pem: ");
        check(with(&|options| options.ca_file = Some(dir.path().join("missing.pem"))), "missing.pem: ");
        assert!(build(&url("https://host/"), &proxy("http://user:secret@host:3128")).is_ok());
    }

    #[test]
    fn this_machine_is_told_apart() {
        for (text, expected) in [
            ("http://localhost:8080/", true),
            ("http://127.0.0.9/", true),
            ("http://[::1]/", true),
            ("http://192.168.0.1/", false),
            ("http://localhost.example/", false),
        ] {
            assert_eq!(is_loopback(&url(text)), expected, "{text}");
        }
    }
}
