//! When the credentials of a kubeconfig end. Pure.

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::ByteString;
use kube::Config;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use serde_json::Value;

/// What ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, strum::Display)]
pub enum Credential {
    /// The certificate that the client shows.
    #[strum(serialize = "client certificate")]
    ClientCertificate,
    /// The bearer token.
    #[strum(serialize = "token")]
    Token,
    /// An authority that the server's certificate is checked by.
    #[strum(serialize = "certificate authority")]
    Authority,
}

/// The end of a credential; `None` where it cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct End {
    /// Which one.
    pub of: Credential,
    /// Since when it is valid, where it says so.
    pub since: Option<Timestamp>,
    /// When.
    pub at: Option<Timestamp>,
}

impl End {
    fn new(of: Credential, validity: Option<(Timestamp, Timestamp)>) -> Self {
        let (since, at) = validity.unzip();
        Self { of, since, at }
    }

    /// How long before its end it is warned of. What lives for a short time is renewed by a program, such as the tokens of
    /// Pods by the kubelet when a fifth of their time is left.
    pub fn notice(&self) -> SignedDuration {
        const USUAL: SignedDuration = SignedDuration::from_hours(14 * 24);
        const SHORT: SignedDuration = SignedDuration::from_hours(30 * 24);
        let lifetime = self.since.zip(self.at).map(|(since, at)| at.duration_since(since));
        lifetime.filter(|lifetime| *lifetime < SHORT).map_or(USUAL, |lifetime| lifetime / 10)
    }
}

/// The ends of what a configuration holds. A token that says nothing of its end has none.
pub fn ends(config: &Config) -> Vec<End> {
    let auth = serde_json::to_value(&config.auth_info).unwrap_or_default();
    let mut ends = Vec::new();
    if let Some(coded) = auth["client-certificate-data"].as_str() {
        let validity = decoded(coded).and_then(|pem| {
            // The first one is the client's own; what follows are those that signed it.
            let first = CertificateDer::pem_slice_iter(&pem).next()?.ok()?;
            validity(&first)
        });
        ends.push(End::new(Credential::ClientCertificate, validity));
    }
    if let Some((since, at)) = auth["token"].as_str().and_then(of_token) {
        ends.push(End { of: Credential::Token, since, at: Some(at) });
    }
    let authorities = config.root_cert.iter().flatten().map(|der| validity(der));
    ends.extend(authorities.map(|validity| End::new(Credential::Authority, validity)));
    ends
}

/// The times of a certificate.
fn validity(der: &[u8]) -> Option<(Timestamp, Timestamp)> {
    let (_, certificate) = x509_parser::parse_x509_certificate(der).ok()?;
    let validity = certificate.validity();
    let time = |time: x509_parser::time::ASN1Time| Timestamp::from_second(time.timestamp()).ok();
    Some((time(validity.not_before)?, time(validity.not_after)?))
}

/// `iat` and `exp` of a JSON web token; `None` of any other token.
fn of_token(token: &str) -> Option<(Option<Timestamp>, Timestamp)> {
    let claims = token.trim().split('.').nth(1)?;
    let claims: String = claims
        .chars()
        .map(|c| {
            if c == '-' {
                '+'
            } else if c == '_' {
                '/'
            } else {
                c
            }
        })
        .collect();
    let padded = format!("{claims}{}", "=".repeat((4 - claims.len() % 4) % 4));
    let claims: Value = serde_json::from_slice(&decoded(&padded)?).ok()?;
    let time = |claim: &str| Timestamp::from_second(claims[claim].as_i64()?).ok();
    Some((time("iat"), time("exp")?))
}

fn decoded(base64: &str) -> Option<Vec<u8>> {
    serde_json::from_value(Value::from(base64)).ok().map(|ByteString(bytes)| bytes)
}

#[cfg(test)]
mod tests {
    use fedhub_planes::discovery::credentials::from_secret;
    use rcgen::{CertificateParams, KeyPair, date_time_ymd};

    use super::*;

    /// `{"exp":1767225600}`, and the same with `"iat":1767222000`.
    const TOKEN: &str = "e30.eyJleHAiOjE3NjcyMjU2MDB9.c2ln";
    const DATED: &str = "e30.eyJpYXQiOjE3NjcyMjIwMDAsImV4cCI6MTc2NzIyNTYwMH0.c2ln";

    fn coded(bytes: &[u8]) -> String {
        let coded = serde_json::to_value(ByteString(bytes.to_vec())).unwrap();
        coded.as_str().unwrap().to_owned()
    }

    fn kubeconfig(cluster: &str, user: &str) -> Config {
        let content = format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts:\n- name: c\n  context: {{cluster: c, user: u}}\n\
             clusters:\n- name: c\n  cluster: {{server: 'https://127.0.0.1:1'{cluster}}}\nusers:\n- name: u\n  user: {{{user}}}\n"
        );
        from_secret(&content).unwrap()
    }

    #[test]
    fn u4_the_ends_of_certificates_and_tokens_are_found() {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        (params.not_before, params.not_after) = (date_time_ymd(2025, 2, 3), date_time_ymd(2026, 2, 3));
        let certificate = params.self_signed(&KeyPair::generate().unwrap()).unwrap().pem();
        let pem = coded(certificate.as_bytes());
        let end = |of, since: &str, at: &str| End { of, since: since.parse().ok(), at: at.parse().ok() };
        let (february, january) = ("2026-02-03T00:00:00Z", "2026-01-01T00:00:00Z");
        let year = |of| end(of, "2025-02-03T00:00:00Z", february);
        for (cluster, user, expected) in [
            (String::new(), "token: abc".to_owned(), vec![]),
            (String::new(), "token: a.b.c".to_owned(), vec![]),
            (String::new(), format!("token: {TOKEN}"), vec![end(Credential::Token, "", january)]),
            (
                String::new(),
                format!("token: {DATED}"),
                vec![end(Credential::Token, "2025-12-31T23:00:00Z", january)],
            ),
            (
                format!(", certificate-authority-data: {pem}"),
                "token: abc".to_owned(),
                vec![year(Credential::Authority)],
            ),
            (
                String::new(),
                format!("client-certificate-data: {pem}, client-key-data: {pem}"),
                vec![year(Credential::ClientCertificate)],
            ),
            (
                String::new(),
                "client-certificate-data: aHVudGVyMg==, client-key-data: aHVudGVyMg==".to_owned(),
                vec![End::new(Credential::ClientCertificate, None)],
            ),
        ] {
            assert_eq!(ends(&kubeconfig(&cluster, &user)), expected, "{cluster} {user}");
        }
    }
    #[test]
    fn u4_what_is_renewed_often_is_warned_of_late() {
        let at: Timestamp = "2026-02-03T00:00:00Z".parse().unwrap();
        for (hours, expected) in [(1, Some(6)), (30 * 24 - 1, Some(4314)), (30 * 24, None), (365 * 24, None)]
        {
            let since = at - SignedDuration::from_hours(hours);
            let notice = End::new(Credential::Token, Some((since, at))).notice();
            assert_eq!(notice.as_mins(), expected.unwrap_or(14 * 24 * 60), "{hours}");
        }
        assert_eq!(End { of: Credential::Token, since: None, at: Some(at) }.notice().as_hours(), 14 * 24);
    }
}
