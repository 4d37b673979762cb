use super::*;

const GOOD: &str = "
regions:
- name: eu-north
  url: https://region.example.com/base/
  identityUrl: https://identity.example.com
  organizationId: d0000000-0000-4000-8000-000000000001
  regionId: c7b0a3a1-4a11-4c6e-8f5a-0c1d2e3f4a5b
  caFile: ca.crt
  auth:
    clientCredentials:
      tokenUrl: https://identity.example.com/oauth2/v2/token
      clientId: fedhub
      clientSecretFile: secrets/client-secret
  limits:
    requestsPerSecond: 50
  projects:
    shop:
      projectId: e0000000-0000-4000-8000-000000000001
      networks:
        default: a3c5e7f1-0000-4000-8000-000000000001
  instanceTypes:
    datumcloud/d1-standard-2: f1a0e000-0000-4000-8000-000000000001
  images:
    ubuntu: e1a0e000-0000-4000-8000-000000000001
  sandbox:
    imageId: e1a0e000-0000-4000-8000-000000000002
";

fn faults(text: &str) -> Vec<String> {
    Config::parse(text, Path::new("/etc/provider")).unwrap_err().faults().to_vec()
}

fn changed(from: &str, to: &str) -> String {
    assert!(GOOD.contains(from), "{from}");
    GOOD.replace(from, to)
}

#[test]
fn paths_are_relative_to_the_file_and_limits_have_defaults() {
    let config = Config::parse(GOOD, Path::new("/etc/provider")).unwrap();
    let region = &config.regions[0];
    let files: Vec<_> = region.files().into_iter().map(|(_, file)| file.to_str().unwrap()).collect();
    assert_eq!(files, ["/etc/provider/ca.crt", "/etc/provider/secrets/client-secret"]);
    assert_eq!((region.limits.max_in_flight, region.limits.requests_per_second), (16, 50));
    assert_eq!(region.url.parts(), ("https://region.example.com".to_owned(), "/base"));
}

#[test]
fn what_has_not_the_form_is_named_with_its_line() {
    for (text, expected) in [
        (changed("  caFile:", "  cafile:"), ["line 8", "cafile"]),
        (changed("d0000000-0000", "d0000000"), ["line 6", "not a UUID"]),
        (changed("url: https://region.example.com/base/", "url: region.example.com"), ["line 4", "https://"]),
        (changed("    clientCredentials:", "    password:"), ["line 10", "password"]),
        (changed("https://region.", "https://user:pw@region."), ["line 4", "credentials belong into files"]),
        (changed("regionId", "regionID"), ["regionID", "line"]),
    ] {
        let faults = faults(&text);
        assert_eq!(faults.len(), 1);
        for expected in expected {
            assert!(faults[0].contains(expected), "{expected}: {faults:?}");
        }
        assert!(!faults[0].contains('\n') && !faults[0].contains("user:pw"), "{faults:?}");
    }
}

#[test]
fn v7_a_url_that_is_none_does_not_show_its_password() {
    for url in [
        "https://user:s3cret pw@region.example.com",
        "user:s3cret@region.example.com",
        "ftp://user:s3cret@region.example.com",
        "https://region.example.com/?token=s3cret",
    ] {
        let faults = faults(&changed("https://region.example.com/base/", &format!("'{url}'")));
        assert!(faults[0].contains("line 4") && faults[0].contains("URL"), "{faults:?}");
        assert!(!faults[0].contains("s3cret"), "{faults:?}");
    }
}

#[test]
fn every_other_fault_is_named_at_once() {
    let text = changed("https://identity.example.com\n", "http://identity.example.com\n")
        .replace("requestsPerSecond: 50", "requestsPerSecond: 0")
        .replace("clientId: fedhub", "clientId: ''");
    let text = format!("{text}  gpus: {{a-type: 1}}\nlocations: {{dfw: nowhere}}\n");
    let faults = faults(&text);
    for expected in ["identityUrl", "limits.requestsPerSecond", "clientId", "gpus", "nowhere"] {
        assert!(faults.iter().any(|fault| fault.contains(expected)), "{expected}: {faults:?}");
    }
    assert_eq!(faults.len(), 5, "{faults:?}");
}

#[test]
fn v7_without_tls_only_on_this_machine_and_only_where_it_is_said() {
    let plain = GOOD.replace("https://region.example.com/base/", "http://127.0.0.1:8080");
    assert_eq!(faults(&plain).len(), 1);
    let said = plain.replace("  caFile: ca.crt", "  insecureLoopback: true");
    Config::parse(&said, Path::new("")).unwrap();
    let elsewhere = said.replace("http://127.0.0.1:8080", "http://region.example.com");
    assert_eq!(faults(&elsewhere).len(), 1);
    let certificate = "    mtls: {certFile: tls.crt, keyFile: tls.key}\n";
    let (head, rest) = said.split_once("    clientCredentials:\n").unwrap();
    let (_, tail) = rest.split_once("  limits:\n").unwrap();
    let mtls = format!("{head}{certificate}  limits:\n{tail}");
    assert!(faults(&mtls)[0].contains("certificate"), "a certificate is shown over TLS alone");
}

#[test]
fn several_regions_have_names_of_their_own_and_locations() {
    let second = GOOD.strip_prefix("\nregions:\n").unwrap();
    let twice = format!("{GOOD}{second}");
    let faults = faults(&twice);
    assert!(faults.iter().any(|fault| fault.contains("twice")), "{faults:?}");
    assert!(faults.iter().any(|fault| fault.contains("locations")), "{faults:?}");
    let other = second.replace("eu-north", "us-south");
    Config::parse(&format!("{GOOD}{other}locations: {{fra: eu-north, dfw: us-south}}\n"), Path::new(""))
        .unwrap();
}

#[test]
fn files_that_cannot_be_read_are_named_by_field() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("config.yaml");
    std::fs::write(&path, GOOD).unwrap();
    let fault = Config::load(&path).unwrap_err();
    assert_eq!(fault.faults().len(), 2, "{fault}");
    assert!(
        fault.faults()[0].contains("caFile") && fault.faults()[1].contains("clientSecretFile"),
        "{fault}"
    );
    std::fs::create_dir(folder.path().join("secrets")).unwrap();
    std::fs::write(folder.path().join("secrets/client-secret"), "s").unwrap();
    std::fs::write(folder.path().join("ca.crt"), "").unwrap();
    Config::load(&path).unwrap();
}
