//! The HTTP client below kube's: one connector for every way to a server (direct, or through a proxy), TLS, compression,
//! credentials.
//!
//! kube's own `ClientBuilder` makes its connector itself and leaves Nagle's algorithm on: a request of two packets (one with a
//! token in it) then waits 40 ms for a delayed acknowledgement of the first.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderValue, Uri};
use hyper::rt::{Read, Write};
use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::proxy::{SocksV5, Tunnel};
use hyper_util::client::legacy::connect::{Connection, HttpConnector};
use hyper_util::rt::TokioExecutor;
use kube::client::{Body, Client, ConfigExt};
use kube::config::Config;
use tower::{BoxError, Service, ServiceBuilder};
use tower_http::decompression::DecompressionLayer;

/// Makes the client of a configuration. Nothing is dialled yet.
///
/// # Errors
/// Certificates, credentials or the proxy cannot be used.
pub(super) fn client(config: &Config) -> kube::Result<Client> {
    let connector = tcp_connector();
    let Some(proxy) = &config.proxy_url else { return client_over(config, connector) };
    match proxy.scheme_str() {
        Some("socks5") => client_over(config, SocksV5::new(proxy.clone(), connector)),
        Some("http") => client_over(config, signed_in(Tunnel::new(proxy.clone(), connector), proxy)),
        Some("https") => {
            let connector = config.rustls_https_connector_with_connector(connector)?;
            client_over(config, signed_in(Tunnel::new(proxy.clone(), connector), proxy))
        }
        _ => Err(kube::Error::ProxyProtocolUnsupported { proxy_url: Box::new(proxy.clone()) }),
    }
}

fn tcp_connector() -> HttpConnector {
    let mut connector = HttpConnector::new();
    // TLS is laid over it.
    connector.enforce_http(false);
    connector.set_nodelay(true);
    connector
}

/// Adds the user and password in a proxy's URL, which are percent-encoded there.
fn signed_in<C>(tunnel: Tunnel<C>, proxy: &Uri) -> Tunnel<C> {
    let user = proxy.authority().and_then(|authority| authority.as_str().rsplit_once('@')).map(|(user, _)| user);
    let header = user.and_then(|user| {
        let decoded: Vec<u8> = percent_encoding::percent_decode_str(user).collect();
        let mut header = HeaderValue::from_str(&format!("Basic {}", STANDARD.encode(decoded))).ok()?;
        header.set_sensitive(true);
        Some(header)
    });
    match header {
        Some(header) => tunnel.with_auth(header),
        None => tunnel,
    }
}

fn client_over<C>(config: &Config, connector: C) -> kube::Result<Client>
where
    C: Service<Uri> + Clone + Send + Sync + 'static,
    C::Response: Connection + Read + Write + Send + Unpin + 'static,
    C::Future: Send + 'static,
    C::Error: std::error::Error + Send + Sync + 'static,
{
    let connector = config.rustls_https_connector_with_connector(connector)?;
    let http: legacy::Client<_, Body> = legacy::Client::builder(TokioExecutor::new()).build(connector);
    let service = ServiceBuilder::new()
        .layer(config.base_uri_layer())
        .layer(DecompressionLayer::new().gzip(!config.disable_compression))
        .option_layer(config.auth_layer()?)
        .layer(config.extra_headers_layer()?)
        .map_err(BoxError::from)
        .service(http);
    Ok(Client::new(service, config.default_namespace.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn small_packets_are_sent_at_once() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let server: Uri = format!("http://{}", listener.local_addr().unwrap()).parse().unwrap();
        let connection = tcp_connector().call(server).await.unwrap();
        assert!(connection.inner().nodelay().unwrap());
    }

    #[test]
    fn the_password_of_a_proxy_is_decoded_and_a_strange_proxy_is_refused() {
        let proxy: Uri = "http://user:pa%40ss@proxy:3128".parse().unwrap();
        let tunnel = format!("{:?}", signed_in(Tunnel::new(proxy.clone(), ()), &proxy));
        assert!(tunnel.contains("Sensitive"), "{tunnel}");
        let mut config = Config::new("https://server".parse().unwrap());
        config.proxy_url = Some("ftp://proxy".parse().unwrap());
        assert!(matches!(client(&config), Err(kube::Error::ProxyProtocolUnsupported { .. })));
    }
}
