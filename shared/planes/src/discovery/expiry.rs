//! When credentials end, as far as they say so themselves.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use fedhub_core::metrics::Metrics;
use jiff::{SignedDuration, Timestamp};
use kube::Config;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use serde_json::Value;
use x509_parser::parse_x509_certificate;

/// The kind of a credential that expires.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, strum::Display)]
pub enum Credential {
    /// The certificate that the client shows.
    #[strum(serialize = "client certificate")]
    ClientCertificate,
    /// The certificate that a server of this process shows.
    #[strum(serialize = "serving certificate")]
    ServingCertificate,
    /// The bearer token.
    #[strum(serialize = "token")]
    Token,
    /// An authority that the server's certificate is checked by.
    #[strum(serialize = "certificate authority")]
    Authority,
}

/// The end of a credential.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CredentialEnd {
    /// The kind of the credential.
    pub of: Credential,
    /// When the credential becomes valid, if it says so.
    pub since: Option<Timestamp>,
    /// When; `None` where it cannot be read.
    pub at: Option<Timestamp>,
}

impl CredentialEnd {
    fn new(of: Credential, validity: Option<(Timestamp, Timestamp)>) -> Self {
        let (since, at) = validity.unzip();
        Self { of, since, at }
    }

    /// How long it is valid, from its beginning to its end.
    pub fn lifetime(&self) -> Option<SignedDuration> {
        self.since.zip(self.at).map(|(since, at)| at.duration_since(since))
    }

    /// How long before its end it is warned of: a tenth of its life, for what lives for a short time is
    /// renewed by a program late in it, such as the tokens of Pods by the kubelet when a fifth of their time
    /// is left.
    pub fn notice(&self) -> SignedDuration {
        const LONGEST: SignedDuration = SignedDuration::from_hours(14 * 24);
        self.lifetime().map_or(LONGEST, |lifetime| LONGEST.min(lifetime / 10))
    }

    /// Whether less than a third of its life remains; also where its beginning or its end is not known.
    pub fn is_due(&self, now: Timestamp) -> bool {
        self.lifetime()
            .and_then(|lifetime| self.at.map(|at| at.duration_since(now) < lifetime / 3))
            .unwrap_or(true)
    }
}

/// The ends of what a configuration holds. A token that says nothing of its end has none, and neither has
/// what a program is asked for. To be given a configuration that refers to no file, as
/// [`super::credentials::Source::read`] makes it.
pub fn ends(config: &Config) -> Vec<CredentialEnd> {
    // As JSON, for a secret is blacked out where it is printed.
    let auth = serde_json::to_value(&config.auth_info).unwrap_or_default();
    let mut ends = Vec::new();
    if let Some(coded) = auth["client-certificate-data"].as_str() {
        let pem = STANDARD.decode(coded).unwrap_or_default();
        ends.push(CredentialEnd::new(Credential::ClientCertificate, of_chain(&pem)));
    }
    ends.extend(auth["token"].as_str().and_then(of_token));
    let authorities = config.root_cert.iter().flatten().map(|der| validity(der));
    ends.extend(authorities.map(|validity| CredentialEnd::new(Credential::Authority, validity)));
    ends
}

/// When the first of some credentials ends, and when the first of them is announced: that need not be the
/// same one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expiry {
    /// The end.
    at: Timestamp,
    /// When the expiry is announced.
    notice: Timestamp,
}

impl Expiry {
    /// When the configuration's own credentials expire, as far as they say so. Authorities do not count:
    /// during a rotation, a bundle holds old and new ones, and it keeps working after the old ones have
    /// expired.
    pub fn read(config: &Config) -> Option<Self> {
        let own = ends(config).into_iter().filter(|end| end.of != Credential::Authority);
        Self::first(own.filter_map(|end| Self::new(&end)))
    }

    /// When a serving certificate expires, given its chain in PEM.
    pub fn of_served(pem: &[u8]) -> Option<Self> {
        Self::new(&CredentialEnd::new(Credential::ServingCertificate, of_chain(pem)))
    }

    fn new(end: &CredentialEnd) -> Option<Self> {
        let at = end.at?;
        Some(Self { at, notice: at.checked_sub(end.notice()).unwrap_or(at) })
    }

    /// Returns the first expiry and the first notice of several credentials.
    pub fn first(all: impl IntoIterator<Item = Self>) -> Option<Self> {
        all.into_iter()
            .reduce(|one, other| Self { at: one.at.min(other.at), notice: one.notice.min(other.notice) })
    }
}

/// Sets the metrics of these credentials, or takes them away where their end is not known: a time that was
/// made up would raise an alert.
pub fn publish(credentials: &str, expiry: Option<Expiry>, metrics: &Metrics) {
    let times = expiry.map(|it| (it.at, it.notice)).unzip();
    for (gauge, time) in [(&metrics.credentials_expiry, times.0), (&metrics.credentials_notice, times.1)] {
        match time {
            Some(time) => gauge.with_label_values(&[credentials]).set(time.as_second()),
            None => drop(gauge.remove_label_values(&[credentials])),
        }
    }
}

/// Returns when the first certificate of a chain in PEM, the holder's own, becomes valid, and when the first
/// in the chain expires: without the certificate that vouches for it, a valid one is not accepted either.
pub fn of_chain(pem: &[u8]) -> Option<(Timestamp, Timestamp)> {
    let mut chain = CertificateDer::pem_slice_iter(pem).map(|certificate| validity(&certificate.ok()?));
    let (since, at) = chain.next()??;
    Some((since, chain.flatten().map(|(_, at)| at).fold(at, Timestamp::min)))
}

/// The times of a certificate.
fn validity(der: &[u8]) -> Option<(Timestamp, Timestamp)> {
    let (_, certificate) = parse_x509_certificate(der).ok()?;
    let validity = certificate.validity();
    let time = |time: x509_parser::time::ASN1Time| Timestamp::from_second(time.timestamp()).ok();
    Some((time(validity.not_before)?, time(validity.not_after)?))
}

/// The claims of a JSON web token. Its signature is the server's business.
pub fn claims(token: &str) -> Option<Value> {
    let payload = URL_SAFE_NO_PAD.decode(token.trim().split('.').nth(1)?).ok()?;
    serde_json::from_slice(&payload).ok()
}

/// `iat` and `exp` of a JSON web token.
fn of_token(token: &str) -> Option<CredentialEnd> {
    let claims = claims(token)?;
    Some(CredentialEnd {
        of: Credential::Token,
        since: time(&claims["iat"]),
        at: Some(time(&claims["exp"])?),
    })
}

/// A time of a JSON web token: RFC 7519 allows fractions.
fn time(claim: &Value) -> Option<Timestamp> {
    claim.as_i64().map_or_else(
        || {
            let since = SignedDuration::try_from_secs_f64(claim.as_f64()?).ok()?;
            Timestamp::UNIX_EPOCH.checked_add(since).ok()
        },
        |seconds| Timestamp::from_second(seconds).ok(),
    )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rcgen::{CertificateParams, KeyPair, date_time_ymd};
    use serde_json::json;

    use super::*;
    use crate::discovery::credentials::from_secret;

    fn certificate(year: i32) -> String {
        let mut params = CertificateParams::new(vec!["fedhub".to_owned()]).unwrap();
        params.not_before = date_time_ymd(2020, 1, 1);
        params.not_after = date_time_ymd(year, 1, 1);
        params.self_signed(&KeyPair::generate().unwrap()).unwrap().pem()
    }

    fn jwt(claims: &Value) -> String {
        let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        format!("{}.{}.c2ln", part(&json!({"alg": "RS256"})), part(claims))
    }

    /// `{"exp":1767225600}`, and the same with `"iat":1767222000`.
    const TOKEN: &str = "e30.eyJleHAiOjE3NjcyMjU2MDB9.c2ln";
    const DATED: &str = "e30.eyJpYXQiOjE3NjcyMjIwMDAsImV4cCI6MTc2NzIyNTYwMH0.c2ln";

    fn config(user: &Value, authority: Option<String>) -> Config {
        let mut cluster = json!({"server": "https://127.0.0.1:1"});
        if let Some(pem) = authority {
            cluster["certificate-authority-data"] = json!(STANDARD.encode(pem));
        }
        let kubeconfig = json!({
            "current-context": "c", "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
            "clusters": [{"name": "c", "cluster": cluster}], "users": [{"name": "u", "user": user}],
        });
        from_secret(&kubeconfig.to_string()).unwrap()
    }

    #[test]
    fn the_end_is_that_of_the_certificate_or_of_the_token() {
        let data = |pem: &str| STANDARD.encode(pem);
        let leaf = certificate(2031);
        let issuer = certificate(2030);
        let token = jwt(&json!({"exp": 1_893_456_000}));
        for (user, end) in [
            (json!({}), None),
            (json!({"token": "opaque"}), None),
            (json!({"token": "a.b.c"}), None),
            (json!({"token": jwt(&json!({"sub": "fedhub"}))}), None),
            (json!({"token": jwt(&json!({"exp": "soon"}))}), None),
            (json!({"token": jwt(&json!({"exp": 1e300}))}), None),
            (json!({"token": token}), Some("2030-01-01T00:00:00Z")),
            (json!({"token": jwt(&json!({"exp": 1_893_456_000.5}))}), Some("2030-01-01T00:00:00.5Z")),
            (json!({"username": "fedhub", "password": "secret"}), None),
            (json!({"client-certificate-data": data("no certificate")}), None),
            (json!({"client-certificate-data": data(&leaf)}), Some("2031-01-01T00:00:00Z")),
            (
                json!({"client-certificate-data": data(&(leaf.clone() + &issuer))}),
                Some("2030-01-01T00:00:00Z"),
            ),
            (json!({"client-certificate-data": data(&leaf), "token": token}), Some("2030-01-01T00:00:00Z")),
        ] {
            assert_eq!(
                Expiry::read(&config(&user, None)).map(|it| it.at.to_string()).as_deref(),
                end,
                "{user}"
            );
        }
        let authority = config(&json!({"token": token}), Some(certificate(2029)));
        assert_eq!(
            Expiry::read(&authority).map(|it| it.at),
            "2030-01-01T00:00:00Z".parse().ok(),
            "an authority does not count"
        );
    }

    #[test]
    fn u4_every_end_is_found_with_its_beginning() {
        let data = |pem: &str| STANDARD.encode(pem);
        let end =
            |of, since: &str, at: &str| CredentialEnd { of, since: since.parse().ok(), at: at.parse().ok() };
        let january = "2026-01-01T00:00:00Z";
        let since = "2025-12-31T23:00:00Z";
        let year = |of, year: i32| end(of, "2020-01-01T00:00:00Z", &format!("{year}-01-01T00:00:00Z"));
        let leaf = certificate(2031);
        let issuer = certificate(2030);
        for (user, authority, expected) in [
            (json!({"token": "abc"}), None, vec![]),
            (json!({"token": jwt(&json!({"iat": 1_767_222_000}))}), None, vec![]),
            (json!({"token": TOKEN}), None, vec![end(Credential::Token, "", january)]),
            (json!({"token": DATED}), None, vec![end(Credential::Token, since, january)]),
            (json!({"token": "abc"}), Some(certificate(2027)), vec![year(Credential::Authority, 2027)]),
            (
                json!({"client-certificate-data": data(&(leaf + &issuer)), "token": DATED}),
                Some(certificate(2027) + &certificate(2028)),
                vec![
                    year(Credential::ClientCertificate, 2030),
                    end(Credential::Token, since, january),
                    year(Credential::Authority, 2027),
                    year(Credential::Authority, 2028),
                ],
            ),
            (
                json!({"client-certificate-data": "aHVudGVyMg=="}),
                None,
                vec![CredentialEnd::new(Credential::ClientCertificate, None)],
            ),
        ] {
            assert_eq!(ends(&config(&user, authority)), expected, "{user}");
        }
    }

    #[test]
    fn u4_what_is_renewed_often_is_warned_of_late() {
        let at: Timestamp = "2026-02-03T00:00:00Z".parse().unwrap();
        for (hours, expected) in
            [(1, Some(6)), (40 * 24, Some(4 * 24 * 60)), (140 * 24, None), (365 * 24, None)]
        {
            let since = at - SignedDuration::from_hours(hours);
            let notice = CredentialEnd::new(Credential::Token, Some((since, at))).notice();
            assert_eq!(notice.as_mins(), expected.unwrap_or(14 * 24 * 60), "{hours}");
        }
        assert_eq!(
            CredentialEnd { of: Credential::Token, since: None, at: Some(at) }.notice().as_hours(),
            14 * 24
        );
    }

    #[test]
    fn a_token_is_due_when_less_than_a_third_of_its_life_remains() {
        let since = Timestamp::UNIX_EPOCH;
        let at = since + SignedDuration::from_secs(300);
        let token = |since, at| CredentialEnd { of: Credential::Token, since, at };
        for (end, second, due) in [
            (token(Some(since), Some(at)), 0, false),
            (token(Some(since), Some(at)), 200, false),
            (token(Some(since), Some(at)), 201, true),
            (token(Some(since), Some(at)), 400, true),
            (token(None, Some(at)), 0, true),
            (token(Some(since), None), 0, true),
        ] {
            assert_eq!(end.is_due(since + SignedDuration::from_secs(second)), due, "{end:?} {second}");
        }
    }

    #[test]
    fn an_end_that_is_not_known_any_more_is_not_shown() {
        let metrics = Metrics::new().unwrap();
        let shown = || {
            let text = metrics.encode(|_| true).unwrap();
            ["expiry", "notice"]
                .map(|time| text.contains(&format!("fedhub_credentials_{time}_timestamp_seconds{{")))
        };
        publish("hub", None, &metrics);
        assert_eq!(shown(), [false; 2]);
        publish("hub", Some(Expiry { at: Timestamp::UNIX_EPOCH, notice: Timestamp::UNIX_EPOCH }), &metrics);
        assert_eq!(shown(), [true; 2]);
        publish("hub", None, &metrics);
        assert_eq!(shown(), [false; 2]);
    }

    /// The credential that has to be announced first need not be the one that expires first.
    #[test]
    fn u4_a_token_for_an_hour_hides_no_certificate_that_ends_this_week() {
        let now: Timestamp = "2026-02-03T00:00:00Z".parse().unwrap();
        let expiry = |lives: SignedDuration, left: SignedDuration| {
            let at = now + left;
            Expiry::new(&CredentialEnd { of: Credential::Token, since: Some(at - lives), at: Some(at) })
                .unwrap()
        };
        let token = expiry(SignedDuration::from_hours(1), SignedDuration::from_mins(30));
        let certificate = expiry(SignedDuration::from_hours(365 * 24), SignedDuration::from_hours(3 * 24));
        let first = Expiry::first([token, certificate]).unwrap();
        assert_eq!(first.at, token.at);
        assert_eq!(first.notice, certificate.notice);
        assert!(token.notice > now && certificate.notice < now);
        assert_eq!(Expiry::first([]), None);
    }

    proptest! {
        #[test]
        fn no_credentials_whatever_they_are_make_it_panic(token in ".{0,80}", pem: Vec<u8>) {
            of_token(&token);
            of_token(&format!("a.{}.b", URL_SAFE_NO_PAD.encode(&pem)));
            of_chain(&pem);
            of_chain(token.as_bytes());
        }
    }
}
