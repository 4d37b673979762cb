//! The bodies of orders about servers, and what of them is refused whatever the region holds.

use std::net::Ipv4Addr;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::model::Tag;
use crate::ids;
use crate::refusal::Refusal;

/// What a new server is to be.
#[derive(Clone, Debug, Deserialize)]
pub struct CreateBody {
    pub metadata: MetadataBody,
    pub spec: CreateSpec,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CreateSpec {
    pub network_id: String,
    #[serde(default)]
    pub ssh_certificate_authority_id: Option<String>,
    #[serde(default)]
    pub ssh_injection: Option<String>,
    #[serde(flatten)]
    pub rest: UpdateSpec,
}

/// What a server that stands is to be: all of it.
#[derive(Clone, Debug, Deserialize)]
pub struct UpdateBody {
    pub metadata: MetadataBody,
    pub spec: UpdateSpec,
}

#[derive(Clone, Debug, Deserialize)]
pub struct MetadataBody {
    pub name: String,
    #[serde(default)]
    pub description: Option<String>,
    #[serde(default)]
    pub tags: Option<Vec<Tag>>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UpdateSpec {
    pub flavor_id: String,
    pub image_id: String,
    #[serde(default)]
    pub networking: Option<Networking>,
    #[serde(default)]
    pub user_data: Option<String>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Networking {
    #[serde(default)]
    security_groups: Option<Vec<String>>,
    #[serde(default, rename = "publicIP")]
    public_ip: Option<bool>,
    #[serde(default)]
    allowed_source_addresses: Option<Vec<String>>,
}

/// An ID has to be a UUID.
pub fn check_uuid(id: &str) -> Result<(), Refusal> {
    if ids::parse(id).is_some() {
        return Ok(());
    }
    Err(Refusal::invalid(format!("{id:?} is no UUID")))
}

/// A tag as a query names it: a name, an equals sign and a value.
pub fn tag_of_query(text: &str) -> Result<Tag, Refusal> {
    match text.split('=').collect::<Vec<_>>()[..] {
        [name, value] => Ok(Tag { name: name.to_owned(), value: value.to_owned() }),
        _ => Err(Refusal::invalid("a tag is not of the form name=value")),
    }
}

/// A name has to do as the value of a label.
pub fn check_name(name: &str) -> Result<(), Refusal> {
    let outer = |it: char| it.is_ascii_alphanumeric();
    if name.len() <= 63
        && name.starts_with(outer)
        && name.ends_with(outer)
        && name.chars().all(|it| outer(it) || "-_.".contains(it))
    {
        return Ok(());
    }
    Err(Refusal::invalid(format!("{name:?} is no valid name")))
}

pub fn check_ssh(injection: Option<&str>, has_authority: bool) -> Result<(), Refusal> {
    match injection {
        Some("ca") if !has_authority => Err(Refusal::unprocessable("ca needs a certificate authority")),
        Some("none" | "identityKeypair") if has_authority => {
            Err(Refusal::unprocessable("a certificate authority needs ca"))
        }
        None | Some("ca" | "none" | "identityKeypair") if has_authority => Err(Refusal::not_found()),
        None | Some("ca" | "none" | "identityKeypair") => Ok(()),
        Some(_) => Err(Refusal::unprocessable("sshInjection is none of ca, identityKeypair, none")),
    }
}

/// User data has to be base64 of what cloud-init knows.
pub fn check_user_data(data: Option<&str>) -> Result<(), Refusal> {
    let Some(data) = data else { return Ok(()) };
    let data = BASE64_STANDARD.decode(data).map_err(|_| Refusal::invalid("the user data is no base64"))?;
    let begins = [
        &b"#cloud-config"[..],
        b"#!",
        b"#include",
        b"#cloud-boothook",
        b"#part-handler",
        b"## template: jinja",
        b"Content-Type:",
        b"MIME-Version:",
        &[0x1f, 0x8b],
    ];
    if begins.iter().any(|it| data.starts_with(it)) {
        return Ok(());
    }
    Err(Refusal::unprocessable("cloud-init does not know this user data"))
}

/// How the service keeps a place on the network: what says nothing is left out.
pub fn networking(asked: Option<Networking>) -> Result<Value, Refusal> {
    let mut kept = Map::new();
    let Some(asked) = asked else { return Ok(Value::Null) };
    // There are no groups.
    if let Some(group) = asked.security_groups.unwrap_or_default().first() {
        check_uuid(group)?;
        return Err(Refusal::not_found());
    }
    if asked.public_ip == Some(true) {
        kept.insert("publicIP".to_owned(), true.into());
    }
    let sources = asked.allowed_source_addresses.unwrap_or_default();
    for source in &sources {
        let valid = source.split_once('/').is_some_and(|(address, length)| {
            address.parse::<Ipv4Addr>().is_ok() && length.parse::<u8>().is_ok_and(|it| it <= 32)
        });
        if !valid {
            return Err(Refusal::unprocessable(format!("{source:?} is no IPv4 CIDR")));
        }
    }
    if !sources.is_empty() {
        kept.insert("allowedSourceAddresses".to_owned(), json!(sources));
    }
    Ok(if kept.is_empty() { Value::Null } else { kept.into() })
}
