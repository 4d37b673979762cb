//! Whether a caller may ask at a path: its client certificate has to name the plane that the path is for.
//!
//! A certificate names a plane by a URI among its subject alternative names, `fedhub://planes/<plane>`, and
//! the root server of a Milo, whose word says which project a request is for, by `fedhub://root`. Nothing
//! else in a certificate counts: the CA may sign for other purposes too.

use fedhub_core::names::PlaneName;
use fedhub_planes::discovery::{Discovery, single};
use rustls::pki_types::CertificateDer;
use x509_parser::extensions::GeneralName;
use x509_parser::parse_x509_certificate;

/// The prefix of a plane's URI.
const PLANE: &str = "fedhub://planes/";
/// The URI of a Milo's root server.
const ROOT: &str = "fedhub://root";

/// The URI that a certificate needs for a path that names that plane, or none. `None` where any certificate
/// of the CA will do: for the catalogue of instance types, which may be on no project plane: no plane is
/// asked about a type.
pub fn needed(plane: Option<&PlaneName>, discovery: Discovery) -> Option<String> {
    match (plane, discovery) {
        (Some(plane), _) => Some(format!("{PLANE}{plane}")),
        (None, Discovery::Milo) => Some(ROOT.to_owned()),
        (None, Discovery::Single) => Some(format!("{PLANE}{}", single::NAME)),
        (None, Discovery::Kubeconfigs) => None,
    }
}

/// Whether a certificate has that URI.
pub fn has(certificate: &CertificateDer<'_>, uri: &str) -> bool {
    let Ok((_, certificate)) = parse_x509_certificate(certificate) else { return false };
    let Ok(Some(names)) = certificate.subject_alternative_name() else { return false };
    names.value.general_names.contains(&GeneralName::URI(uri))
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, KeyPair, SanType};

    use super::*;

    fn certificate(names: &[SanType]) -> CertificateDer<'static> {
        let mut params = CertificateParams::default();
        params.subject_alt_names = names.to_vec();
        params.self_signed(&KeyPair::generate().unwrap()).unwrap().der().clone()
    }

    fn uri(text: &str) -> SanType {
        SanType::URI(text.try_into().unwrap())
    }

    #[test]
    fn i6_a_certificate_is_of_the_plane_that_its_uri_names_and_of_no_other() {
        let dns = |text: &str| SanType::DnsName(text.try_into().unwrap());
        for (names, expected) in [
            (vec![uri("fedhub://planes/project-a")], true),
            (vec![dns("example.com"), uri("fedhub://planes/other"), uri("fedhub://planes/project-a")], true),
            (vec![], false),
            (vec![uri("fedhub://planes/project-b")], false),
            (vec![uri("fedhub://planes/project-a2")], false),
            (vec![uri("fedhub://planes/Project-A")], false),
            (vec![uri("fedhub://planes/project-a/")], false),
            (vec![uri("fedhub://root")], false),
            (vec![dns("fedhub://planes/project-a")], false),
        ] {
            assert_eq!(has(&certificate(&names), "fedhub://planes/project-a"), expected, "{names:?}");
        }
        assert!(!has(&CertificateDer::from(vec![1, 2, 3]), "fedhub://root"));
    }

    #[test]
    fn i6_each_discovery_says_whose_certificate_a_path_needs() {
        let plane = PlaneName::new("project-a").unwrap();
        for (plane, discovery, expected) in [
            (Some(&plane), Discovery::Kubeconfigs, Some("fedhub://planes/project-a")),
            (None, Discovery::Kubeconfigs, None),
            (None, Discovery::Single, Some("fedhub://planes/single")),
            (None, Discovery::Milo, Some("fedhub://root")),
        ] {
            assert_eq!(needed(plane, discovery).as_deref(), expected, "{plane:?} {discovery}");
        }
    }
}
