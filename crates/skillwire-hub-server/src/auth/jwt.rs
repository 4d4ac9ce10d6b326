//! Signed tokens of an identity provider (JWT), checked without trusting anything in them.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use ring::signature::{self, RsaPublicKeyComponents, UnparsedPublicKey};
use serde::Deserialize;
use serde_json::{Map, Value};

/// The longest token that is read.
const MAX_TOKEN_BYTES: usize = 16 * 1024;

/// How far the clocks of an issuer and of this machine may be apart.
const LEEWAY: Duration = Duration::from_mins(1);

/// The most keys of one issuer.
const MAX_KEYS: usize = 100;

/// Why a token is refused; the text is for the log and for the caller.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum InvalidJwt {
    #[error("the token is not a signed JSON web token")]
    Form,
    #[error("the algorithm of the token is not one of `RS256` and `ES256`")]
    Algorithm,
    #[error("the token needs extensions that are not known")]
    Extensions,
    #[error("the token was signed with a key that its issuer does not publish")]
    UnknownKey,
    #[error("the signature of the token is wrong")]
    Signature,
    #[error("the token was issued by `{0}`, which this hub does not trust")]
    Issuer(String),
    #[error("the token is not meant for this hub: its audience is not `{0}`")]
    Audience(String),
    #[error("the token is expired, not valid yet, or does not say when it expires")]
    Time,
}

/// The signature algorithms that are accepted. `none` and those with shared secrets are not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Algorithm {
    Rs256,
    Es256,
}

/// A key of an issuer.
#[derive(Debug, Clone)]
pub(crate) struct IssuerKey {
    id: Option<String>,
    public: PublicKey,
}

#[derive(Debug, Clone)]
enum PublicKey {
    Rsa {
        modulus: Vec<u8>,
        exponent: Vec<u8>,
    },
    /// A point of P-256 in its uncompressed form.
    P256(Vec<u8>),
}

impl PublicKey {
    fn algorithm(&self) -> Algorithm {
        match self {
            Self::Rsa { .. } => Algorithm::Rs256,
            Self::P256(_) => Algorithm::Es256,
        }
    }

    fn verifies(&self, message: &[u8], signature: &[u8]) -> bool {
        match self {
            Self::Rsa { modulus, exponent } => {
                let key = RsaPublicKeyComponents { n: modulus, e: exponent };
                key.verify(&signature::RSA_PKCS1_2048_8192_SHA256, message, signature).is_ok()
            }
            Self::P256(point) => {
                let key = UnparsedPublicKey::new(&signature::ECDSA_P256_SHA256_FIXED, point);
                key.verify(message, signature).is_ok()
            }
        }
    }
}

/// Reads the keys of a JSON web key set; keys of other kinds are left out.
pub(crate) fn read_keys(text: &[u8]) -> Option<Vec<IssuerKey>> {
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
    let public = match text("kty")? {
        "RSA" => PublicKey::Rsa { modulus: bytes("n")?, exponent: bytes("e")? },
        "EC" if text("crv") == Some("P-256") => {
            let (x, y) = (bytes("x")?, bytes("y")?);
            let point = [&[4][..], &x, &y].concat();
            (x.len() == 32 && y.len() == 32).then_some(PublicKey::P256(point))?
        }
        _ => return None,
    };
    Some(IssuerKey { id: text("kid").map(str::to_owned), public })
}

/// A token whose parts were read, and that nothing vouches for yet.
#[derive(Debug)]
pub(crate) struct UnverifiedJwt<'a> {
    algorithm: Algorithm,
    key_id: Option<String>,
    signed: &'a str,
    signature: Vec<u8>,
    claims: Map<String, Value>,
}

/// What a token must say.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Expected<'a> {
    pub(crate) issuer: &'a str,
    pub(crate) audience: &'a str,
    pub(crate) now: SystemTime,
}

impl<'a> UnverifiedJwt<'a> {
    /// Splits a token, and refuses algorithms that are not allowed.
    pub(crate) fn read(token: &'a str) -> Result<Self, InvalidJwt> {
        #[derive(Deserialize)]
        struct Header {
            alg: String,
            kid: Option<String>,
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
        let algorithm = match header.alg.as_str() {
            "RS256" => Algorithm::Rs256,
            "ES256" => Algorithm::Es256,
            _ => return Err(InvalidJwt::Algorithm),
        };
        if header.crit.is_some() {
            return Err(InvalidJwt::Extensions);
        }
        let signature = decoded(signature)?;
        Ok(Self { algorithm, key_id: header.kid, signed, signature, claims })
    }

    /// The issuer that the token names, to choose the keys it is checked with.
    pub(crate) fn issuer(&self) -> &str {
        self.claims.get("iss").and_then(Value::as_str).unwrap_or_default()
    }

    /// Checks signature, issuer, audience and times, and returns the claims.
    pub(crate) fn verify(
        self,
        keys: &[IssuerKey],
        expected: Expected<'_>,
    ) -> Result<Map<String, Value>, InvalidJwt> {
        let is_meant = |key: &&IssuerKey| {
            // Trust boundary: the kind of the key decides about the algorithm, never the token alone.
            key.public.algorithm() == self.algorithm
                && (self.key_id.is_none() || key.id.is_none() || key.id == self.key_id)
        };
        let mut meant = keys.iter().filter(is_meant).peekable();
        if meant.peek().is_none() {
            return Err(InvalidJwt::UnknownKey);
        }
        if !meant.any(|key| key.public.verifies(self.signed.as_bytes(), &self.signature)) {
            return Err(InvalidJwt::Signature);
        }
        if self.issuer() != expected.issuer {
            return Err(InvalidJwt::Issuer(self.issuer().to_owned()));
        }
        let is_audience = |value: &Value| value.as_str() == Some(expected.audience);
        let meant_for_us = match self.claims.get("aud") {
            Some(Value::Array(all)) => all.iter().any(is_audience),
            Some(one) => is_audience(one),
            None => false,
        };
        if !meant_for_us {
            return Err(InvalidJwt::Audience(expected.audience.to_owned()));
        }
        if !self.is_current(expected.now) {
            return Err(InvalidJwt::Time);
        }
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
        let expected = Expected { issuer: ISSUER, audience: "hub", now };
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
        assert_eq!(with("aud", "other".into()), InvalidJwt::Audience("hub".into()));
        assert_eq!(with("exp", 999_000.into()), InvalidJwt::Time);
        assert_eq!(with("exp", Value::Null), InvalidJwt::Time);
        assert_eq!(with("nbf", 1_000_200.into()), InvalidJwt::Time);
        assert_eq!(with("iat", 1_000_200.into()), InvalidJwt::Time);
        for alg in ["none", "HS256", "RS384", "PS256", "es256", ""] {
            let token = issuer.sign(&json!({"alg": alg, "kid": "k1"}), &claims());
            assert_eq!(check(&token, &keys).unwrap_err(), InvalidJwt::Algorithm, "{alg}");
        }
        // An algorithm of another kind of key finds no key.
        let token = issuer.sign(&json!({"alg": "RS256", "kid": "k1"}), &claims());
        assert_eq!(check(&token, &keys).unwrap_err(), InvalidJwt::UnknownKey);
        let token = issuer.sign(&json!({"alg": "ES256", "kid": "k2"}), &claims());
        assert_eq!(check(&token, &keys).unwrap_err(), InvalidJwt::UnknownKey);
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
}
