//! Publishing from CI with the token of an identity provider.

use std::{
    net::SocketAddr,
    time::{SystemTime, UNIX_EPOCH},
};

use ring::{
    rand::SystemRandom,
    signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _},
};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
};

use super::TestHub;

/// An identity provider on loopback: its two documents, and its signatures.
pub(super) struct Issuer {
    address: SocketAddr,
    pair: EcdsaKeyPair,
    random: SystemRandom,
}

/// Base64 as tokens have it.
pub(super) fn encode(bytes: impl AsRef<[u8]>) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut text = String::new();
    for piece in bytes.as_ref().chunks(3) {
        let number = piece.iter().fold(0_u32, |sum, byte| (sum << 8) | u32::from(*byte));
        let number = number << (8 * (3 - piece.len()));
        for position in 0..=piece.len() {
            let letter = (number >> (18 - 6 * position)) & 63;
            text.push(char::from(LETTERS[letter as usize]));
        }
    }
    text
}

impl Issuer {
    pub(super) async fn start() -> Self {
        let random = SystemRandom::new();
        let algorithm = &ECDSA_P256_SHA256_FIXED_SIGNING;
        let document = EcdsaKeyPair::generate_pkcs8(algorithm, &random).unwrap();
        let pair = EcdsaKeyPair::from_pkcs8(algorithm, document.as_ref(), &random).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let point = pair.public_key().as_ref();
        let (x, y) = (encode(&point[1..33]), encode(&point[33..]));
        let keys = json!({"keys": [{"kty": "EC", "crv": "P-256", "kid": "k", "x": x, "y": y}]});
        let url = format!("http://{address}");
        let discovery = json!({"issuer": url, "jwks_uri": format!("{url}/keys")});
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let mut head = vec![0; 4096];
                let count = stream.read(&mut head).await.unwrap_or(0);
                let is_keys = head[..count].starts_with(b"GET /keys ");
                let body = if is_keys { &keys } else { &discovery }.to_string();
                let reply = format!(
                    "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
                    body.len()
                );
                let _ = stream.write_all(reply.as_bytes()).await;
            }
        });
        Self { address, pair, random }
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// A token with claims besides the usual ones; `null` takes a claim away.
    pub(super) fn token(&self, changed: &Value) -> String {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
        let mut claims = json!({
            "iss": self.url(), "aud": "skillwire-hub", "sub": "repo:acme/skills",
            "iat": now, "exp": now + 300,
            "repository": "acme/skills", "ref": "refs/heads/main", "sha": "0123abcd",
        });
        for (name, value) in changed.as_object().unwrap() {
            claims[name] = value.clone();
        }
        let header = json!({"alg": "ES256", "kid": "k", "typ": "JWT"});
        let signed = format!("{}.{}", encode(header.to_string()), encode(claims.to_string()));
        let signature = self.pair.sign(&self.random, signed.as_bytes()).unwrap();
        format!("{signed}.{}", encode(signature))
    }
}

#[tokio::test]
async fn a_workflow_publishes_with_its_identity_into_the_namespace_that_trusts_it_and_nowhere_else()
{
    let issuer = Issuer::start().await;
    let named = format!("private-issuers = [\"{}\"]", issuer.url());
    let hub = TestHub::configured(|text| text.replace("private-issuers = []", &named)).await;
    hub.folder.skill("refunds");
    hub.run(&["pack", "refunds"]).await.assert_exit(0);
    let archive = std::fs::read(hub.folder.join("refunds.tar.gz")).unwrap();
    let path = "/skills/acme/refunds/versions";
    let publish = async |token: &str| hub.api_as(token, "POST", path, &archive).await.status;
    let good = issuer.token(&json!({}));
    // No namespace trusts the issuer yet.
    assert_eq!(publish(&good).await, 401);
    let url = issuer.url();
    let trust = [
        "hub",
        "namespace",
        "trust",
        "acme",
        "--issuer",
        &url,
        "--claim",
        "repository=acme/skills",
        "--claim",
        "ref=refs/heads/*",
    ];
    hub.run(&trust).await.assert_exit(0);
    for refused in [
        json!({"repository": "evil/skills"}),
        json!({"ref": "refs/tags/v1"}),
        json!({"ref": null}),
        json!({"aud": "another-hub"}),
        json!({"exp": 1}),
        json!({"iss": "https://issuer.example"}),
    ] {
        assert_eq!(publish(&issuer.token(&refused)).await, 401, "{refused}");
    }
    let other = Issuer::start().await;
    assert_eq!(publish(&other.token(&json!({"iss": url}))).await, 401);
    assert_eq!(publish(&good).await, 201);
    let version: Value =
        serde_json::from_slice(&hub.api("GET", &format!("{path}/1.0.0"), b"").await.body).unwrap();
    assert_eq!(version["publisher"], "ci@acme");
    // It may publish, and nothing else.
    hub.run(&["hub", "namespace", "new", "other"]).await.assert_exit(0);
    let elsewhere = hub.api_as(&good, "POST", "/skills/other/refunds/versions", &archive).await;
    assert_eq!(elsewhere.status, 404);
    let revoke = json!({"transition": "revoke", "reason": "x"}).to_string();
    let state = format!("{path}/1.0.0/state");
    assert_eq!(hub.api_as(&good, "POST", &state, revoke.as_bytes()).await.status, 403);
    assert_eq!(
        hub.api_as(&good, "POST", "/tokens", b"{\"name\":\"x\",\"subject\":\"x\"}").await.status,
        403
    );
}

#[tokio::test]
async fn the_owner_of_a_namespace_cannot_make_the_hub_ask_private_addresses() {
    let issuer = Issuer::start().await;
    let hub = TestHub::start().await;
    for refused in
        [issuer.url().as_str(), "https://127.0.0.1", "https://10.0.0.1", "http://a.example"]
    {
        let trust = ["hub", "namespace", "trust", "acme", "--issuer", refused, "--claim", "sub=x"];
        hub.run(&trust).await.assert_refused(2, "public internet");
    }
    let public =
        ["hub", "namespace", "trust", "acme", "--issuer", "https://ci.example", "--claim", "sub=x"];
    hub.run(&public).await.assert_exit(0);
    let listed = hub.run(&["hub", "namespace", "publishers", "acme", "--json"]).await.json();
    assert_eq!(listed[0]["issuer"], "https://ci.example");
    let id = listed[0]["id"].to_string();
    hub.run(&["hub", "namespace", "distrust", "acme", &id]).await.assert_exit(0);
    let listed = hub.run(&["hub", "namespace", "publishers", "acme", "--json"]).await.json();
    assert_eq!(listed, json!([]));
}
