//! Certificates, keys and tokens of one instance. EC P-256 throughout, service account tokens included. The
//! CAs' own keys are never written: nothing can be signed once `up` is over.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType, ExtendedKeyUsagePurpose,
    IsCa, KeyPair, KeyUsagePurpose, SanType,
};

use crate::Error;

/// The service names that servers are verified by, beside 127.0.0.1. The aggregator dials 127.0.0.1 and still
/// asks for `<service>.<namespace>.svc`.
const SERVER_NAMES: [&str; 7] = [
    "127.0.0.1",
    "localhost",
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    "karmada-aggregated-apiserver.karmada-system.svc",
    "karmada-webhook.karmada-system.svc",
];

/// The group that may do everything.
const MASTERS: &str = "system:masters";

/// The certificates of an instance; servers read theirs from the files.
pub struct Pki {
    directory: PathBuf,
    ca: CertifiedIssuer<'static, KeyPair>,
    /// Karmada's token in the cells.
    pub cell_token: String,
}

/// A client certificate and its key, in PEM.
pub struct ClientCertificate {
    /// The certificate.
    pub certificate: String,
    /// Its key.
    pub key: String,
}

impl Pki {
    /// Makes everything and writes what servers read.
    pub fn create(directory: &Path) -> Result<Self, Error> {
        let ca = authority("fedhub-e2e-ca")?;
        let front_proxy_ca = authority("fedhub-e2e-front-proxy-ca")?;
        let pki = Self { directory: directory.to_path_buf(), ca, cell_token: random_token()? };
        pki.write("ca.crt", &pki.ca.pem())?;
        pki.write("front-proxy-ca.crt", &front_proxy_ca.pem())?;

        let key = KeyPair::generate()?;
        let server = server(&key, &pki.ca, &SERVER_NAMES)?;
        pki.write("server.crt", &server)?;
        pki.write("server.key", &key.serialize_pem())?;
        // Karmada's webhook insists on these names.
        pki.write("webhook/tls.crt", &server)?;
        pki.write("webhook/tls.key", &key.serialize_pem())?;

        let front_proxy = sign_client(&front_proxy_ca, "front-proxy-client", None)?;
        pki.write("front-proxy-client.crt", &front_proxy.certificate)?;
        pki.write("front-proxy-client.key", &front_proxy.key)?;

        let service_accounts = KeyPair::generate()?;
        pki.write("sa.key", &service_accounts.serialize_pem())?;
        pki.write("sa.pub", &service_accounts.public_key_pem())?;
        pki.write("tokens.csv", &format!("{},karmada,karmada,\"{MASTERS}\"\n", pki.cell_token))?;
        Ok(pki)
    }

    /// A certificate for a user of group `system:masters`. Each component has a name of its own, so that the
    /// audit logs show who did what.
    pub fn master(&self, user: &str) -> Result<ClientCertificate, Error> {
        sign_client(&self.ca, user, Some(MASTERS))
    }

    /// A certificate by which the API server of a plane shows webhooks whose it is.
    pub fn plane(&self, name: &str) -> Result<ClientCertificate, Error> {
        sign_plane(&self.ca, name)
    }

    /// The CA that signed servers and clients, in PEM.
    pub fn ca(&self) -> String {
        self.ca.pem()
    }

    fn write(&self, name: &str, content: &str) -> Result<(), Error> {
        let path = self.directory.join(name);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(Error::file("create", parent))?;
        }
        fs::write(&path, content).map_err(Error::file("write", path))
    }
}

/// A new CA and certificates of it for servers on this machine, written as `ca.crt`, and `1/tls.crt`,
/// `1/tls.key` and so on; and those that the API servers of these planes show, as `planes/<plane>.crt` and
/// `.key`.
pub fn write_servers(directory: &Path, count: usize, planes: &[String]) -> Result<(), Error> {
    let pki = Pki {
        directory: directory.to_path_buf(),
        ca: authority("fedhub-e2e-suite-ca")?,
        cell_token: String::new(),
    };
    pki.write("ca.crt", &pki.ca.pem())?;
    for number in 1..=count {
        let key = KeyPair::generate()?;
        let certificate = server(&key, &pki.ca, &["127.0.0.1"])?;
        pki.write(&format!("{number}/tls.crt"), &certificate)?;
        pki.write(&format!("{number}/tls.key"), &key.serialize_pem())?;
    }
    for plane in planes {
        let shown = pki.plane(plane)?;
        pki.write(&format!("planes/{plane}.crt"), &shown.certificate)?;
        pki.write(&format!("planes/{plane}.key"), &shown.key)?;
    }
    Ok(())
}

/// A certificate of a server with these names, in PEM.
fn server(key: &KeyPair, ca: &CertifiedIssuer<'static, KeyPair>, names: &[&str]) -> Result<String, Error> {
    let mut params = CertificateParams::new(names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>())?;
    params.distinguished_name.push(DnType::CommonName, "fedhub-e2e-server");
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    Ok(params.signed_by(key, ca)?.pem())
}

/// The CA in PEM and Karmada's token in the cells, of an instance that was started earlier.
pub fn read(directory: &Path) -> Result<(String, String), Error> {
    let read = |name: &str| {
        let path = directory.join(name);
        fs::read_to_string(&path).map_err(Error::file("read", path))
    };
    let tokens = read("tokens.csv")?;
    Ok((read("ca.crt")?, tokens.split(',').next().unwrap_or_default().to_owned()))
}

fn authority(name: &str) -> Result<CertifiedIssuer<'static, KeyPair>, Error> {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages =
        vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign, KeyUsagePurpose::DigitalSignature];
    Ok(CertifiedIssuer::self_signed(params, KeyPair::generate()?)?)
}

fn sign_client(
    ca: &CertifiedIssuer<'static, KeyPair>,
    user: &str,
    group: Option<&str>,
) -> Result<ClientCertificate, Error> {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, user);
    if let Some(group) = group {
        params.distinguished_name.push(DnType::OrganizationName, group);
    }
    sign(ca, params)
}

/// One that names a plane as fedhub's admission asks for it. It names no user, so that no API server that
/// trusts the same CA lets its holder in.
fn sign_plane(ca: &CertifiedIssuer<'static, KeyPair>, plane: &str) -> Result<ClientCertificate, Error> {
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    params.subject_alt_names = vec![SanType::URI(format!("fedhub://planes/{plane}").try_into()?)];
    sign(ca, params)
}

fn sign(
    ca: &CertifiedIssuer<'static, KeyPair>,
    mut params: CertificateParams,
) -> Result<ClientCertificate, Error> {
    let key = KeyPair::generate()?;
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    let certificate = params.signed_by(&key, ca)?.pem();
    Ok(ClientCertificate { certificate, key: key.serialize_pem() })
}

/// 128 random bits in hexadecimal.
pub fn random_token() -> Result<String, Error> {
    let mut bytes = [0_u8; 16];
    let source = Path::new("/dev/urandom");
    let mut file = fs::File::open(source).map_err(Error::file("open", source))?;
    file.read_exact(&mut bytes).map_err(Error::file("read", source))?;
    Ok(format!("{:032x}", u128::from_be_bytes(bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_that_a_server_is_told_to_read_is_there() {
        let scratch = tempfile::tempdir().unwrap();
        let pki = Pki::create(scratch.path()).unwrap();
        for name in ["ca.crt", "front-proxy-ca.crt", "server.crt", "server.key", "sa.key", "sa.pub"] {
            assert!(
                fs::read_to_string(scratch.path().join(name)).unwrap().starts_with("-----BEGIN "),
                "{name}"
            );
        }
        assert!(!scratch.path().join("ca.key").exists());
        let tokens = fs::read_to_string(scratch.path().join("tokens.csv")).unwrap();
        assert!(tokens.starts_with(&pki.cell_token));
        assert_eq!(read(scratch.path()).unwrap(), (pki.ca(), pki.cell_token.clone()));
        assert!(pki.master("user-a").unwrap().key.contains("PRIVATE KEY"));
    }

    #[test]
    fn servers_and_planes_of_a_suite_have_their_certificates() {
        let scratch = tempfile::tempdir().unwrap();
        write_servers(scratch.path(), 2, &["project-b".to_owned()]).unwrap();
        for file in ["ca.crt", "1/tls.crt", "2/tls.key", "planes/project-b.crt", "planes/project-b.key"] {
            assert!(scratch.path().join(file).exists(), "{file}");
        }
    }

    #[test]
    fn tokens_differ() {
        assert_ne!(random_token().unwrap(), random_token().unwrap());
        assert_eq!(random_token().unwrap().len(), 32);
    }
}
