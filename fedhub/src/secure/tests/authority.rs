//! CAs, and clients that trust them.

use std::path::Path;
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair, SanType};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore};
use tokio_rustls::TlsConnector;

/// A CA.
pub type Authority = CertifiedIssuer<'static, KeyPair>;

/// A new CA.
pub fn authority() -> Authority {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

/// A certificate of that CA and its key, in PEM.
pub fn signed(by: &Authority) -> (String, String) {
    signed_as(by, &[])
}

/// Like [`signed`], but for these URIs.
pub fn signed_as(by: &Authority, uris: &[&str]) -> (String, String) {
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(["localhost".to_owned()]).unwrap();
    params.subject_alt_names.extend(uris.iter().map(|uri| SanType::URI((*uri).try_into().unwrap())));
    (params.signed_by(&key, by).unwrap().pem(), key.serialize_pem())
}

/// Writes `tls.crt` and `tls.key`, signed by that CA.
pub fn write(directory: &Path, by: &Authority) {
    let (certificate, key) = signed(by);
    std::fs::write(directory.join("tls.crt"), certificate).unwrap();
    std::fs::write(directory.join("tls.key"), key).unwrap();
}

/// What a client trusts, and what it shows.
pub fn client(trusts: &str, shows: Option<(String, String)>) -> TlsConnector {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(trusts.as_bytes()).unwrap()).unwrap();
    let builder =
        ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let builder = builder.with_root_certificates(roots);
    let config = match shows {
        None => builder.with_no_client_auth(),
        Some((certificate, key)) => {
            let chain = vec![CertificateDer::from_pem_slice(certificate.as_bytes()).unwrap()];
            let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap();
            builder.with_client_auth_cert(chain, key).unwrap()
        }
    };
    TlsConnector::from(Arc::new(config))
}
