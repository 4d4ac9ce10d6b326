//! Signed tokens of an identity provider (JWT), checked without trusting anything in them.

use std::{
    collections::BTreeSet,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::algorithm::{Algorithm, PublicKey};

/// The longest token that is read.
const MAX_TOKEN_BYTES: usize = 16 * 1024;

/// How far the clocks of an issuer and of this machine may be apart.
const LEEWAY: Duration = Duration::from_mins(1);

/// The most keys of one issuer.
const MAX_KEYS: usize = 100;

/// The kinds of tokens that are taken, as the header names them. Others, such as the ones of a logout, are
/// signed by the same issuer with the same keys and mean something else.
const KINDS: [&str; 3] = ["jwt", "at+jwt", "application/at+jwt"];

/// Why a token is refused; the text is for the log and for the caller.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidJwt {
    /// The text is no token.
    #[error("the token is not a signed JSON web token")]
    Form,
    /// The token is signed in a way that is not accepted.
    #[error("the algorithm of the token is not accepted")]
    Algorithm,
    /// The token is one for another purpose.
    #[error("the token is not one for access")]
    Kind,
    /// The token must not be used without extensions that are not known.
    #[error("the token needs extensions that are not known")]
    Extensions,
    /// The issuer publishes no such key.
    #[error("the token was signed with a key that its issuer does not publish")]
    UnknownKey,
    /// The token was changed, or another key signed it.
    #[error("the signature of the token is wrong")]
    Signature,
    /// Another issuer issued the token.
    #[error("the token was issued by `{}`, which is not trusted here", .0.escape_debug())]
    Issuer(String),
    /// The token is meant for another service.
    #[error("the token is not meant for this service: its audience is not {0}")]
    Audience(String),
    /// The token cannot be used now.
    #[error("the token is expired, not valid yet, or does not say when it expires")]
    Time,
}

/// A key of an issuer.
#[derive(Debug, Clone)]
pub struct IssuerKey {
    id: Option<String>,
    /// The one algorithm that the issuer uses the key with, if it says so.
    algorithm: Option<Algorithm>,
    public: PublicKey,
}

/// Reads the keys of a JSON web key set; keys of other kinds are left out.
pub fn read_keys(text: &[u8]) -> Option<Vec<IssuerKey>> {
    #[derive(Deserialize)]
    struct KeySet {
        keys: Vec<Map<String, Value>>,
    }
    let set: KeySet = serde_json::from_slice(text).ok()?;
    if set.keys.len() > MAX_KEYS {
        return None;
    }
    Some(set.keys.iter().filter_map(read_key).collect())
}

fn read_key(key: &Map<String, Value>) -> Option<IssuerKey> {
    let text = |name: &str| key.get(name).and_then(Value::as_str);
    let bytes = |name: &str| URL_SAFE_NO_PAD.decode(text(name)?).ok();
    if text("use").is_some_and(|usage| usage != "sig") {
        return None;
    }
    let point = |length: usize| {
        let (x, y) = (bytes("x")?, bytes("y")?);
        (x.len() == length && y.len() == length).then(|| [&[4][..], &x, &y].concat())
    };
    let public = match (text("kty")?, text("crv")) {
        ("RSA", _) => PublicKey::Rsa { modulus: bytes("n")?, exponent: bytes("e")? },
        ("EC", Some("P-256")) => PublicKey::P256(point(32)?),
        ("EC", Some("P-384")) => PublicKey::P384(point(48)?),
        ("OKP", Some("Ed25519")) => PublicKey::Ed25519(bytes("x").filter(|x| x.len() == 32)?),
        _ => return None,
    };
    // A key for an algorithm that is not known here is left out, too.
    let algorithm = match text("alg") {
        None => None,
        Some(name) => Some(name.parse().ok().filter(|known| public.suits(*known))?),
    };
    Some(IssuerKey { id: text("kid").map(str::to_owned), algorithm, public })
}

/// A token whose parts were read, and that nothing vouches for yet.
#[derive(Debug)]
pub struct UnverifiedJwt<'a> {
    algorithm: Algorithm,
    key_id: Option<String>,
    signed: &'a str,
    signature: Vec<u8>,
    claims: Map<String, Value>,
}

/// What a token must say.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Expected<'a> {
    /// The issuer, compared to the byte.
    pub issuer: &'a str,
    /// The audiences of which the token must name one.
    pub audiences: &'a [&'a str],
    /// The algorithms that are accepted.
    pub algorithms: &'a BTreeSet<Algorithm>,
    /// The time.
    pub now: SystemTime,
}

impl<'a> Expected<'a> {
    /// Expects a token of this issuer for one of these audiences, signed with one of these algorithms,
    /// that is valid now.
    pub fn new(
        issuer: &'a str,
        audiences: &'a [&'a str],
        algorithms: &'a BTreeSet<Algorithm>,
        now: SystemTime,
    ) -> Self {
        Self { issuer, audiences, algorithms, now }
    }
}

impl<'a> UnverifiedJwt<'a> {
    /// Splits a token, and refuses algorithms that do not exist here.
    pub fn read(token: &'a str) -> Result<Self, InvalidJwt> {
        #[derive(Deserialize)]
        struct Header {
            alg: String,
            kid: Option<String>,
            typ: Option<String>,
            #[serde(default)]
            crit: Option<Value>,
        }
        if token.len() > MAX_TOKEN_BYTES {
            return Err(InvalidJwt::Form);
        }
        let (signed, signature) = token.rsplit_once('.').ok_or(InvalidJwt::Form)?;
        let (header, claims) = signed.split_once('.').ok_or(InvalidJwt::Form)?;
        let decoded = |part: &str| URL_SAFE_NO_PAD.decode(part).map_err(|_| InvalidJwt::Form);
        let header: Header =
            serde_json::from_slice(&decoded(header)?).map_err(|_| InvalidJwt::Form)?;
        let claims = serde_json::from_slice(&decoded(claims)?).map_err(|_| InvalidJwt::Form)?;
        let algorithm = header.alg.parse().map_err(|_| InvalidJwt::Algorithm)?;
        if header.crit.is_some() {
            return Err(InvalidJwt::Extensions);
        }
        if header.typ.is_some_and(|kind| !KINDS.contains(&kind.to_ascii_lowercase().as_str())) {
            return Err(InvalidJwt::Kind);
        }
        let signature = decoded(signature)?;
        Ok(Self { algorithm, key_id: header.kid, signed, signature, claims })
    }

    /// The issuer that the token names, to choose the keys it is checked with.
    pub fn issuer(&self) -> &str {
        self.claims.get("iss").and_then(Value::as_str).unwrap_or_default()
    }

    /// Checks everything but the signature, which needs keys. This proves nothing.
    pub fn could_be(&self, expected: Expected<'_>) -> Result<(), InvalidJwt> {
        if !expected.algorithms.contains(&self.algorithm) {
            return Err(InvalidJwt::Algorithm);
        }
        if self.issuer() != expected.issuer {
            return Err(InvalidJwt::Issuer(self.issuer().chars().take(200).collect()));
        }
        let is_audience =
            |value: &Value| value.as_str().is_some_and(|text| expected.audiences.contains(&text));
        let meant_for_us = match self.claims.get("aud") {
            Some(Value::Array(all)) => all.iter().any(is_audience),
            Some(one) => is_audience(one),
            None => false,
        };
        if !meant_for_us {
            let names: Vec<String> =
                expected.audiences.iter().map(|name| format!("`{name}`")).collect();
            return Err(InvalidJwt::Audience(names.join(" or ")));
        }
        if self.is_current(expected.now) { Ok(()) } else { Err(InvalidJwt::Time) }
    }

    /// Checks signature, issuer, audience and times, and returns the claims.
    pub fn verify(
        self,
        keys: &[IssuerKey],
        expected: Expected<'_>,
    ) -> Result<Map<String, Value>, InvalidJwt> {
        let is_meant = |key: &&IssuerKey| {
            // Trust boundary: the kind of the key decides about the algorithm, never the token alone.
            key.public.suits(self.algorithm)
                && key.algorithm.is_none_or(|only| only == self.algorithm)
                && (self.key_id.is_none() || key.id.is_none() || key.id == self.key_id)
        };
        let mut meant = keys.iter().filter(is_meant).peekable();
        if meant.peek().is_none() {
            return Err(InvalidJwt::UnknownKey);
        }
        let signed = self.signed.as_bytes();
        if !meant.any(|key| key.public.verifies(self.algorithm, signed, &self.signature)) {
            return Err(InvalidJwt::Signature);
        }
        self.could_be(expected)?;
        Ok(self.claims)
    }

    fn is_current(&self, now: SystemTime) -> bool {
        let now = now.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let leeway = LEEWAY.as_secs();
        let seconds = |name: &str| match self.claims.get(name) {
            None => Some(None),
            Some(value) => value.as_u64().map(Some),
        };
        let (Some(Some(expires)), Some(begins), Some(issued)) =
            (seconds("exp"), seconds("nbf"), seconds("iat"))
        else {
            return false;
        };
        let begun = [begins, issued].into_iter().flatten().all(|time| time <= now + leeway);
        expires.saturating_add(leeway) > now && begun
    }
}

#[cfg(test)]
mod tests {
    use ring::{
        rand::SystemRandom,
        signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _},
    };
    use serde_json::json;

    use super::*;

    struct Issuer {
        pair: EcdsaKeyPair,
        random: SystemRandom,
    }

    impl Issuer {
        fn new() -> Self {
            let random = SystemRandom::new();
            let document =
                EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).unwrap();
            let pair = EcdsaKeyPair::from_pkcs8(
                &ECDSA_P256_SHA256_FIXED_SIGNING,
                document.as_ref(),
                &random,
            );
            Self { pair: pair.unwrap(), random }
        }

        fn keys(&self) -> Vec<IssuerKey> {
            let point = self.pair.public_key().as_ref();
            let (x, y) = (&point[1..33], &point[33..]);
            let [x, y] = [x, y].map(|bytes| URL_SAFE_NO_PAD.encode(bytes));
            let set = json!({"keys": [
                {"kty": "EC", "crv": "P-256", "kid": "k1", "use": "sig", "x": x, "y": y},
                {"kty": "oct", "k": "c2VjcmV0"},
            ]});
            read_keys(set.to_string().as_bytes()).unwrap()
        }

        fn sign(&self, header: &Value, claims: &Value) -> String {
            let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
            let signed = format!("{}.{}", part(header), part(claims));
            let signature = self.pair.sign(&self.random, signed.as_bytes()).unwrap();
            format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature))
        }
    }

    const ISSUER: &str = "https://issuer.example";

    fn check(token: &str, keys: &[IssuerKey]) -> Result<Map<String, Value>, InvalidJwt> {
        let now = UNIX_EPOCH + Duration::from_secs(1_000_000);
        let algorithms = Algorithm::ALL.into();
        let expected =
            Expected { issuer: ISSUER, audiences: &["hub"], algorithms: &algorithms, now };
        UnverifiedJwt::read(token)?.verify(keys, expected)
    }

    fn claims() -> Value {
        json!({"iss": ISSUER, "aud": ["other", "hub"], "exp": 1_000_300, "iat": 999_990, "sub": "x"})
    }

    #[test]
    fn a_signed_token_of_the_pinned_issuer_for_this_hub_is_taken() {
        let issuer = Issuer::new();
        let token = issuer.sign(&json!({"alg": "ES256", "kid": "k1"}), &claims());
        assert_eq!(check(&token, &issuer.keys()).unwrap()["sub"], "x");
        let token = issuer.sign(&json!({"alg": "ES256"}), &claims());
        assert!(check(&token, &issuer.keys()).is_ok());
    }

    #[test]
    fn other_algorithms_issuers_audiences_times_and_keys_are_refused() {
        let issuer = Issuer::new();
        let keys = issuer.keys();
        let header = json!({"alg": "ES256", "kid": "k1"});
        let with = |name: &str, value: Value| {
            let mut claims = claims();
            claims[name] = value;
            check(&issuer.sign(&header, &claims), &keys).unwrap_err()
        };
        assert_eq!(
            with("iss", "https://evil.example".into()),
            InvalidJwt::Issuer("https://evil.example".into())
        );
        assert_eq!(with("aud", "other".into()), InvalidJwt::Audience("`hub`".into()));
        assert_eq!(with("exp", 999_000.into()), InvalidJwt::Time);
        assert_eq!(with("exp", Value::Null), InvalidJwt::Time);
        assert_eq!(with("nbf", 1_000_200.into()), InvalidJwt::Time);
        assert_eq!(with("iat", 1_000_200.into()), InvalidJwt::Time);
        for alg in ["none", "HS256", "RS384", "HS512", "es256", ""] {
            let token = issuer.sign(&json!({"alg": alg, "kid": "k1"}), &claims());
            assert_eq!(check(&token, &keys).unwrap_err(), InvalidJwt::Algorithm, "{alg}");
        }
        // An algorithm of another kind of key finds no key.
        let token = issuer.sign(&json!({"alg": "RS256", "kid": "k1"}), &claims());
        assert_eq!(check(&token, &keys).unwrap_err(), InvalidJwt::UnknownKey);
        let token = issuer.sign(&json!({"alg": "ES256", "kid": "k2"}), &claims());
        assert_eq!(check(&token, &keys).unwrap_err(), InvalidJwt::UnknownKey);
        let token = issuer.sign(&json!({"alg": "ES256", "typ": "logout+jwt"}), &claims());
        assert_eq!(check(&token, &keys).unwrap_err(), InvalidJwt::Kind);
        let token = issuer.sign(&json!({"alg": "ES256", "typ": "at+JWT"}), &claims());
        assert!(check(&token, &keys).is_ok());
        let token = issuer.sign(&json!({"alg": "ES256", "crit": ["b64"]}), &claims());
        assert_eq!(check(&token, &keys).unwrap_err(), InvalidJwt::Extensions);
        let token = issuer.sign(&header, &claims());
        let other = Issuer::new().sign(&header, &claims());
        assert_eq!(check(&other, &keys).unwrap_err(), InvalidJwt::Signature);
        let (signed, signature) = token.rsplit_once('.').unwrap();
        let (head, _) = signed.split_once('.').unwrap();
        let mut forged = claims();
        forged["sub"] = "y".into();
        let forged = URL_SAFE_NO_PAD.encode(forged.to_string());
        let forged = format!("{head}.{forged}.{signature}");
        assert_eq!(check(&forged, &keys).unwrap_err(), InvalidJwt::Signature);
        for broken in ["", "a.b", "a.b.c", &format!("{head}.x"), &"a".repeat(20_000)] {
            assert_eq!(check(broken, &keys).unwrap_err(), InvalidJwt::Form, "{broken}");
        }
    }

    /// The public key of an issuer is no secret: a token whose shared secret it is must not be taken.
    #[test]
    fn a_public_key_is_no_shared_secret() {
        let issuer = Issuer::new();
        let signed = format!(
            "{}.{}",
            URL_SAFE_NO_PAD.encode(json!({"alg": "HS256", "kid": "k1"}).to_string()),
            URL_SAFE_NO_PAD.encode(claims().to_string())
        );
        let secret =
            ring::hmac::Key::new(ring::hmac::HMAC_SHA256, issuer.pair.public_key().as_ref());
        let tag = ring::hmac::sign(&secret, signed.as_bytes());
        let token = format!("{signed}.{}", URL_SAFE_NO_PAD.encode(tag));
        assert_eq!(check(&token, &issuer.keys()).unwrap_err(), InvalidJwt::Algorithm);
        let none = URL_SAFE_NO_PAD.encode(json!({"alg": "none"}).to_string());
        let (_, claims) = signed.split_once('.').unwrap();
        for token in [format!("{none}.{claims}."), format!("{none}.{claims}.AAAA")] {
            assert_eq!(check(&token, &issuer.keys()).unwrap_err(), InvalidJwt::Algorithm);
        }
    }

    #[test]
    fn an_algorithm_that_the_operator_left_out_or_the_key_is_not_for_is_refused() {
        let issuer = Issuer::new();
        let token = issuer.sign(&json!({"alg": "ES256"}), &claims());
        let now = UNIX_EPOCH + Duration::from_secs(1_000_000);
        let algorithms = [Algorithm::Rs256].into();
        let expected =
            Expected { issuer: ISSUER, audiences: &["hub"], algorithms: &algorithms, now };
        let refused = UnverifiedJwt::read(&token).unwrap().verify(&issuer.keys(), expected);
        assert_eq!(refused.unwrap_err(), InvalidJwt::Algorithm);
        let key =
            json!({"keys": [{"kty": "EC", "crv": "P-256", "alg": "ES384", "x": "AA", "y": "AA"}]});
        assert!(read_keys(key.to_string().as_bytes()).unwrap().is_empty());
    }

    /// Header and claims that embed keys or addresses of keys decide nothing.
    #[test]
    fn keys_that_a_token_brings_along_are_not_used() {
        let issuer = Issuer::new();
        let stranger = Issuer::new();
        let point = stranger.pair.public_key().as_ref().to_vec();
        let jwk = json!({"kty": "EC", "crv": "P-256", "kid": "k1",
            "x": URL_SAFE_NO_PAD.encode(&point[1..33]), "y": URL_SAFE_NO_PAD.encode(&point[33..])});
        for header in [
            json!({"alg": "ES256", "kid": "k1", "jwk": jwk}),
            json!({"alg": "ES256", "kid": "k1", "jku": "https://evil.example/keys"}),
            json!({"alg": "ES256", "kid": "../../k1"}),
        ] {
            let token = stranger.sign(&header, &claims());
            assert!(check(&token, &issuer.keys()).is_err(), "{header}");
        }
    }
}
