//! When credentials end, as far as they say so themselves.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use fedhub_core::metrics::Metrics;
use jiff::Timestamp;
use kube::Config;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use serde_json::Value;
use x509_parser::parse_x509_certificate;

/// When the first of a configuration's credentials ends: its client certificate, with those that vouch for it, or its
/// bearer token, where that is a JWT with `exp`. `None` where none says so, as of a program that is asked for them. To be
/// given a configuration that refers to no file, as [`super::credentials::Source::read`] makes it.
pub fn expires_at(config: &Config) -> Option<Timestamp> {
    // As JSON, for a secret is blacked out where it is printed.
    let auth = serde_json::to_value(&config.auth_info).unwrap_or_default();
    let certificate = auth["client-certificate-data"].as_str().and_then(certificate_end);
    let token = auth["token"].as_str().and_then(token_end);
    certificate.into_iter().chain(token).min()
}

/// Sets the metric of these credentials, or takes it away where their end is not known.
pub(super) fn publish(credentials: &str, expires: Option<Timestamp>, metrics: &Metrics) {
    match expires {
        Some(end) => metrics.credentials_expiry.with_label_values(&[credentials]).set(end.as_second()),
        None => drop(metrics.credentials_expiry.remove_label_values(&[credentials])),
    }
}

/// The first end in a chain: without the certificate that vouches for it, a valid one is not accepted either.
fn certificate_end(coded: &str) -> Option<Timestamp> {
    let pem = STANDARD.decode(coded).ok()?;
    let ends = CertificateDer::pem_slice_iter(&pem).filter_map(|certificate| {
        let certificate = certificate.ok()?;
        let (_, certificate) = parse_x509_certificate(&certificate).ok()?;
        Timestamp::from_second(certificate.validity().not_after.timestamp()).ok()
    });
    ends.min()
}

/// `exp` of a JWT. Its signature is the server's business.
fn token_end(token: &str) -> Option<Timestamp> {
    let payload = URL_SAFE_NO_PAD.decode(token.trim().split('.').nth(1)?).ok()?;
    let claims: Value = serde_json::from_slice(&payload).ok()?;
    let exp = &claims["exp"];
    // RFC 7519 allows fractions.
    let whole = || {
        Timestamp::new(0, 0)
            .ok()?
            .checked_add(jiff::SignedDuration::try_from_secs_f64(exp.as_f64()?).ok()?)
            .ok()
    };
    exp.as_i64().map_or_else(whole, |seconds| Timestamp::from_second(seconds).ok())
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

    fn ends(user: &Value) -> Option<String> {
        let kubeconfig = json!({
            "current-context": "c", "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
            "clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:1"}}],
            "users": [{"name": "u", "user": user}],
        });
        expires_at(&from_secret(&kubeconfig.to_string()).unwrap()).map(|end| end.to_string())
    }

    #[test]
    fn the_end_is_that_of_the_certificate_or_of_the_token() {
        let data = |pem: &str| STANDARD.encode(pem);
        let (leaf, issuer) = (certificate(2031), certificate(2030));
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
            assert_eq!(ends(&user).as_deref(), end, "{user}");
        }
    }

    #[test]
    fn an_end_that_is_not_known_any_more_is_not_shown() {
        let metrics = Metrics::new().unwrap();
        let shown =
            || metrics.encode(|_| true).unwrap().contains("fedhub_credentials_expiry_timestamp_seconds{");
        publish("hub", None, &metrics);
        assert!(!shown());
        publish("hub", Some(Timestamp::UNIX_EPOCH), &metrics);
        assert!(shown());
        publish("hub", None, &metrics);
        assert!(!shown());
    }

    proptest! {
        #[test]
        fn no_credentials_whatever_they_are_make_it_panic(token in ".{0,80}", pem: Vec<u8>) {
            token_end(&token);
            token_end(&format!("a.{}.b", URL_SAFE_NO_PAD.encode(&pem)));
            certificate_end(&STANDARD.encode(&pem));
            certificate_end(&token);
        }
    }
}
