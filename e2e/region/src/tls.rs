//! The certificates of a region: of a CA that is new in every process.

use std::fmt;
use std::sync::Arc;

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    KeyUsagePurpose,
};
use rustls::RootCertStore;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::server::WebPkiClientVerifier;
use tower::BoxError;
use x509_parser::prelude::{FromDer, X509Certificate};

/// A CA, and what the server shows of it.
pub struct Authority {
    ca: CertifiedIssuer<'static, KeyPair>,
    pub server: Arc<rustls::ServerConfig>,
}

impl fmt::Debug for Authority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Authority")
    }
}

impl Authority {
    /// A new one, for a server on the loopback address, which may ask clients for certificates.
    pub fn generate(asks_clients: bool) -> Result<Self, BoxError> {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, "fedhub-region-ca");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
        let ca = CertifiedIssuer::self_signed(params, KeyPair::generate()?)?;

        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = rustls::ServerConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()?;
        let builder = if asks_clients {
            let mut roots = RootCertStore::empty();
            roots.add(ca.der().clone())?;
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider)
                .allow_unauthenticated()
                .build()?;
            builder.with_client_cert_verifier(verifier)
        } else {
            builder.with_no_client_auth()
        };
        let names = ["127.0.0.1", "::1", "localhost"].map(str::to_owned);
        let usage = ExtendedKeyUsagePurpose::ServerAuth;
        let (certificate, key) = issue(&ca, "fedhub-region", &names, usage)?;
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let mut server = builder.with_single_cert(vec![certificate.der().clone()], key)?;
        server.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(Self { ca, server: Arc::new(server) })
    }

    /// The certificate of the CA, in PEM.
    pub fn ca(&self) -> String {
        self.ca.pem()
    }

    /// A certificate for a client of this name, and its key, both in PEM.
    pub fn client(&self, name: &str) -> Result<[String; 2], BoxError> {
        let (certificate, key) = issue(&self.ca, name, &[], ExtendedKeyUsagePurpose::ClientAuth)?;
        Ok([certificate.pem(), key.serialize_pem()])
    }
}

fn issue(
    ca: &CertifiedIssuer<'static, KeyPair>,
    name: &str,
    names: &[String],
    usage: ExtendedKeyUsagePurpose,
) -> Result<(rcgen::Certificate, KeyPair), BoxError> {
    let key = KeyPair::generate()?;
    let mut params = CertificateParams::new(names)?;
    params.distinguished_name.push(DnType::CommonName, name);
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![usage];
    let certificate = params.signed_by(&key, ca)?;
    Ok((certificate, key))
}

/// Whom a certificate names.
pub fn common_name(certificate: &CertificateDer<'_>) -> Option<String> {
    let (_, parsed) = X509Certificate::from_der(certificate).ok()?;
    let name = parsed.subject().iter_common_name().next()?;
    Some(name.as_str().ok()?.to_owned())
}
