//! Tokens from the credentials helper of datumctl. They are held in memory alone: never in arguments, in the
//! environment of a child, in a file or in a text.

use std::process::{Output, Stdio};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use fedhub_core::clock::Clock;
use fedhub_core::errors::chain;
use http::HeaderValue;
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use tokio::process::Command;
use tokio::sync::Mutex;
use zeroize::Zeroizing;

use crate::problem::Failure;

/// How long before its end a token is renewed.
const AHEAD: SignedDuration = SignedDuration::from_secs(60);
/// How long a token is used although its end is near: the helper had no better one.
const LEAST: SignedDuration = SignedDuration::from_secs(5);
/// How long the helper may take: it may have to ask the platform for a new token.
const PATIENCE: Duration = Duration::from_secs(30);

/// The program that gives tokens, and the last one that it gave.
pub struct Tokens {
    helper: String,
    session: Option<String>,
    clock: Clock,
    current: Mutex<Option<Token>>,
}

/// A token as requests carry it.
#[derive(Clone)]
pub struct Token {
    /// The value of the header `Authorization`.
    pub header: HeaderValue,
    /// When it is to be renewed; `None` where that cannot be told from the token.
    renew: Option<Timestamp>,
}

impl Tokens {
    /// Creates the tokens that a helper gets for one of its logins.
    pub fn new(helper: String, session: Option<String>, clock: Clock) -> Self {
        Self { helper, session, clock, current: Mutex::new(None) }
    }

    /// A token that is good for the next request.
    pub async fn get(&self) -> Result<Token, Failure> {
        let mut current = self.current.lock().await;
        if let Some(token) = current.as_ref().filter(|token| token.is_fresh(self.clock.now())) {
            return Ok(token.clone());
        }
        let token = self.ask().await?;
        *current = Some(token.clone());
        Ok(token)
    }

    /// The server did not accept that token: it is not used again.
    pub async fn reject(&self, token: &Token) {
        let mut current = self.current.lock().await;
        if current.as_ref().is_some_and(|current| current.header == token.header) {
            *current = None;
        }
    }

    async fn ask(&self) -> Result<Token, Failure> {
        let mut command = Command::new(&self.helper);
        command.args(["auth", "get-token"]).args(self.session.iter().flat_map(|name| ["--session", name]));
        command.stdin(Stdio::null()).kill_on_drop(true);
        let output = tokio::time::timeout(PATIENCE, command.output())
            .await
            .map_err(|_| Failure::no_token(format!("it did not answer within {} s", PATIENCE.as_secs())))?
            .map_err(|error| Failure::no_token(format!("it could not be started: {}", chain(&error))))?;
        token(output, self.clock.now())
    }
}

/// Reads the token that the helper printed.
fn token(output: Output, now: Timestamp) -> Result<Token, Failure> {
    let printed = Zeroizing::new(output.stdout);
    if !output.status.success() {
        return Err(refusal(&String::from_utf8_lossy(&output.stderr)));
    }
    let text = std::str::from_utf8(&printed).unwrap_or_default().trim();
    let value = Zeroizing::new(format!("Bearer {text}"));
    match HeaderValue::from_str(&value) {
        Ok(mut header) if !text.is_empty() => {
            header.set_sensitive(true);
            Ok(Token { header, renew: expiry(text).map(|end| renew(end, now)) })
        }
        _ => Err(Failure::no_token("what it printed is no token")),
    }
}

/// Why a helper gave no token, by its standard error: a line that begins with `error:` says why, and what
/// follows is advice. What stands before that line is about something else.
fn refusal(said: &str) -> Failure {
    let lines: Vec<&str> = said.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let at = lines.iter().position(|line| cause(line).is_some()).unwrap_or_default();
    let Some((first, rest)) = lines[at..].split_first() else {
        return Failure::no_token("it said nothing");
    };
    Failure::NoToken {
        why: cause(first).unwrap_or(first).trim_end_matches('.').to_owned(),
        advice: (!rest.is_empty()).then(|| rest.join(" ")),
    }
}

/// The words behind `error:`, in whatever case it is written.
fn cause(line: &str) -> Option<&str> {
    let (begin, words) = line.split_once(':')?;
    begin.eq_ignore_ascii_case("error").then(|| words.trim())
}

/// When a token that ends then is to be renewed.
fn renew(end: Timestamp, now: Timestamp) -> Timestamp {
    end.saturating_sub(AHEAD).unwrap_or(end).max(now + LEAST)
}

/// When a JWT ends; `None` for a token of another form.
fn expiry(token: &str) -> Option<Timestamp> {
    let claims = token.split('.').nth(1)?;
    let claims: Value = serde_json::from_slice(&Zeroizing::new(URL_SAFE_NO_PAD.decode(claims).ok()?)).ok()?;
    Timestamp::from_second(claims["exp"].as_i64()?).ok()
}

impl Token {
    fn is_fresh(&self, now: Timestamp) -> bool {
        self.renew.is_none_or(|renew| now < renew)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn jwt(claims: &Value) -> String {
        format!("e30.{}.c2ln", URL_SAFE_NO_PAD.encode(claims.to_string()))
    }

    #[test]
    fn the_end_of_a_token_is_read_where_it_has_one() {
        for (token, expected) in [
            (jwt(&json!({ "exp": 1_700_000_000 })), Some(1_700_000_000)),
            (jwt(&json!({ "sub": "a" })), None),
            (jwt(&json!({ "exp": "soon" })), None),
            ("opaque".to_owned(), None),
            ("a.%%%.c".to_owned(), None),
        ] {
            assert_eq!(expiry(&token).map(Timestamp::as_second), expected, "{token}");
        }
    }

    #[test]
    fn the_cause_of_a_refusal_is_kept_and_what_is_advised() {
        for (said, expected, expected_advice) in [
            ("", "it said nothing", None),
            (" \n\n", "it said nothing", None),
            ("not logged in", "not logged in", None),
            ("error: no session named \"gone\"\n", "no session named \"gone\"", None),
            (
                "Error: The key is wrong.\nLog in: `datumctl login`",
                "The key is wrong",
                Some("Log in: `datumctl login`"),
            ),
            (
                "A newer version is there.\n\nERROR: none\r\nDo this,\n  or that.\n",
                "none",
                Some("Do this, or that."),
            ),
            ("one\ntwo\nthree", "one", Some("two three")),
        ] {
            let Failure::NoToken { why, advice } = refusal(said) else { panic!("{said}") };
            assert_eq!((why.as_str(), advice.as_deref()), (expected, expected_advice), "{said}");
        }
    }

    #[test]
    fn a_token_is_renewed_a_minute_before_its_end_and_not_at_each_request() {
        let now = Timestamp::from_second(1_000).unwrap();
        for (end, expected) in [(2_000, 1_940), (1_065, 1_005), (1_030, 1_005), (900, 1_005)] {
            let renewed = renew(Timestamp::from_second(end).unwrap(), now);
            assert_eq!(renewed.as_second(), expected, "ends at {end}");
        }
        assert_eq!(renew(Timestamp::MIN, now).as_second(), 1_005, "ended before time began");
    }
}
