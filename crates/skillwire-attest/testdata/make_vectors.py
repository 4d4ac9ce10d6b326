#!/usr/bin/env python3
"""Writes the signatures and certificates beside this script, which the tests of this crate verify.

It needs the Python package `cryptography`, the program `openssl` and nothing of this project, so that
the vectors are made by another implementation. Keys are new in each run and are not kept, but for the one of `ed25519`:
after a run every file here changes, and the tests pass as before.
"""

import base64
import datetime as dt
import hashlib
import json
import pathlib
import subprocess
import tempfile

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from cryptography.x509.oid import ExtendedKeyUsageOID as Eku
from cryptography.x509.oid import NameOID, ObjectIdentifier

HERE = pathlib.Path(__file__).parent
PAYLOAD_TYPE = "application/vnd.in-toto+json"
SKILL_PREDICATE = "https://skillwire.dev/attestation/skill/v1"
MODEL_SIGNING = "https://model_signing/signature/v1.0"
IDENTITY = "https://github.com/acme/skills/.github/workflows/publish.yml@refs/heads/main"
ISSUER = "https://token.actions.githubusercontent.com"


def day(text):
    return dt.datetime.fromisoformat(text).replace(tzinfo=dt.timezone.utc)


def b64(data):
    return base64.b64encode(data).decode()


def sha(data):
    return hashlib.sha256(data)


def write(name, text):
    (HERE / name).write_text(text if text.endswith("\n") else text + "\n")


def skill_files():
    root = HERE / "skill"
    paths = sorted(p for p in root.rglob("*") if p.is_file())
    return {p.relative_to(root).as_posix(): p.read_bytes() for p in paths}


def pae(payload):
    kind = PAYLOAD_TYPE.encode()
    return b"DSSEv1 %d %s %d " % (len(kind), kind, len(payload)) + payload


def envelope(payload, signature, key_id=""):
    return {
        "payload": b64(payload),
        "payloadType": PAYLOAD_TYPE,
        "signatures": [{"sig": b64(signature), "keyid": key_id}],
    }


def skill_statement(files):
    lines = "".join(f"{sha(data).hexdigest()} {len(data)} {path}\n" for path, data in sorted(files.items()))
    statement = {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [
            {"name": path, "digest": {"sha256": sha(data).hexdigest()}, "annotations": {"size": len(data)}}
            for path, data in sorted(files.items())
        ],
        "predicateType": SKILL_PREDICATE,
        "predicate": {"contentId": "sha256:" + sha(lines.encode()).hexdigest()},
    }
    return json.dumps(statement, indent=2).encode()


def model_statement(files, algorithm="sha256", method="files"):
    resources = [
        {"name": path, "algorithm": algorithm, "digest": sha(data).hexdigest()}
        for path, data in sorted(files.items())
    ]
    root = sha(b"".join(bytes.fromhex(resource["digest"]) for resource in resources)).hexdigest()
    statement = {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"name": "refunds", "digest": {"sha256": root}}],
        "predicateType": MODEL_SIGNING,
        "predicate": {
            "resources": resources,
            "serialization": {
                "method": method,
                "hash_type": algorithm,
                "allow_symlinks": False,
                "ignore_paths": [".git", ".gitignore"],
            },
        },
    }
    return json.dumps(statement, indent=2).encode()


def name(common):
    parts = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, "Acme Corporation")]
    return x509.Name(parts + [x509.NameAttribute(NameOID.COMMON_NAME, common)])


def certificate(subject, key, issuer, issuer_key, start, end, ca, extra=(), signs=True):
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(day(start))
        .not_valid_after(day(end))
        .add_extension(x509.BasicConstraints(ca=ca, path_length=None), critical=True)
        .add_extension(
            x509.KeyUsage(
                digital_signature=signs and not ca,
                key_cert_sign=ca,
                crl_sign=ca,
                key_encipherment=not signs,
                content_commitment=False,
                data_encipherment=False,
                key_agreement=False,
                encipher_only=False,
                decipher_only=False,
            ),
            critical=True,
        )
    )
    for extension, critical in extra:
        builder = builder.add_extension(extension, critical=critical)
    return builder.sign(issuer_key, hashes.SHA384())


def der(cert):
    return cert.public_bytes(serialization.Encoding.DER)


def pem(cert):
    return cert.public_bytes(serialization.Encoding.PEM)


def spki(key):
    form = serialization.PublicFormat.SubjectPublicKeyInfo
    return key.public_key().public_bytes(serialization.Encoding.DER, form)


def bundle(material, payload, signature, entries=()):
    return {
        "mediaType": "application/vnd.dev.sigstore.bundle.v0.3+json",
        "verificationMaterial": {**material, "tlogEntries": list(entries)},
        "dsseEnvelope": envelope(payload, signature),
    }


def chain_material(certs):
    return {"x509CertificateChain": {"certificates": [{"rawBytes": b64(der(cert))} for cert in certs]}}


def ed25519_vectors(files):
    key = ed25519.Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
    form = serialization.PrivateFormat.PKCS8
    private = key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption())
    public = serialization.PublicFormat.SubjectPublicKeyInfo
    write("ed25519.key.pem", private.decode())
    write("ed25519.pub.pem", key.public_key().public_bytes(serialization.Encoding.PEM, public).decode())
    payload = skill_statement(files)
    write("ed25519.dsse.sig", json.dumps(envelope(payload, key.sign(pae(payload)), "a hint")))


def key_bundle(files):
    key = ec.generate_private_key(ec.SECP256R1())
    payload = skill_statement(files)
    signature = key.sign(pae(payload), ec.ECDSA(hashes.SHA256()))
    material = {"publicKey": {"hint": b64(sha(spki(key)).digest())}}
    form = serialization.PublicFormat.SubjectPublicKeyInfo
    write("p256.pub.pem", key.public_key().public_bytes(serialization.Encoding.PEM, form).decode())
    write("p256.sigstore.json", json.dumps(bundle(material, payload, signature)))


def model_signing_vectors(files):
    def authority():
        root_key, middle_key = (ec.generate_private_key(ec.SECP384R1()) for _ in range(2))
        root_name, middle_name = name("Acme Skills CA"), name("Acme Skills ICA 01")
        root = certificate(root_name, root_key, root_name, root_key, "2026-01-01", "2036-01-01", True)
        middle = certificate(middle_name, middle_key, root_name, root_key, "2026-01-01", "2036-01-01", True)
        return root, middle, middle_name, middle_key

    root, middle, middle_name, middle_key = authority()
    other_root, other_middle, _, other_middle_key = authority()
    write("model-signing.root.pem", pem(root).decode())
    write("model-signing.other-root.pem", pem(other_root).decode())

    def sign(file, payload, start="2026-01-01", end="2027-01-01", by=None, signs=True, common=None):
        key = ec.generate_private_key(ec.SECP384R1())
        issuer, issuer_key, top = by or (middle, middle_key, root)
        subject = name(common or "Acme Skills Signing 001")
        leaf = certificate(subject, key, middle_name, issuer_key, start, end, False, signs=signs)
        signature = key.sign(pae(payload), ec.ECDSA(hashes.SHA384()))
        write(file, json.dumps(bundle(chain_material([leaf, issuer, top]), payload, signature)))

    statement = model_statement(files)
    sign("model-signing.sig", statement)
    sign("model-signing.expired.sig", statement, end="2026-02-01")
    sign("model-signing.future.sig", statement, start="2026-12-01")
    sign("model-signing.other-root.sig", statement, by=(other_middle, other_middle_key, other_root))
    sign("model-signing.not-for-signing.sig", statement, signs=False)
    sign("model-signing.blake2b.sig", model_statement(files, algorithm="blake2b"))
    sign("model-signing.shards.sig", model_statement(files, method="shards"))
    sign("model-signing.other-name.sig", statement, common="Acme Skills Signing 002")


class Log:
    """A transparency log with a tree of five entries, of which the fourth is ours."""

    def __init__(self):
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.id = sha(spki(self.key)).digest()

    @staticmethod
    def tree(body):
        leaf = sha(b"\0" + body).digest()
        others = [sha(b"\0other %d" % n).digest() for n in range(4)]
        node = lambda left, right: sha(b"\1" + left + right).digest()
        left = node(others[0], others[1])
        root = node(node(left, node(others[2], leaf)), others[3])
        return root, [b64(others[2]), b64(left), b64(others[3])]

    def entry(self, body, time, kind, version):
        root, hashes_beside = self.tree(body)
        note = f"log.example - 1\n5\n{b64(root)}\n"
        signed = self.key.sign(note.encode(), ec.ECDSA(hashes.SHA256()))
        note += f"\n\u2014 log.example {b64(self.id[:4] + signed)}\n"
        promise = {"body": b64(body), "integratedTime": time, "logID": self.id.hex(), "logIndex": 1003}
        promise = json.dumps(promise, sort_keys=True, separators=(",", ":")).encode()
        return {
            "logIndex": "1003",
            "logId": {"keyId": b64(self.id)},
            "kindVersion": {"kind": kind, "version": version},
            "integratedTime": str(time),
            "inclusionPromise": {
                "signedEntryTimestamp": b64(self.key.sign(promise, ec.ECDSA(hashes.SHA256())))
            },
            "inclusionProof": {
                "logIndex": "3",
                "rootHash": b64(root),
                "treeSize": "5",
                "hashes": hashes_beside,
                "checkpoint": {"envelope": note},
            },
            "canonicalizedBody": b64(body),
        }


class TimestampAuthority:
    """A timestamp authority, whose answers `openssl ts` writes. Its time is the time of the run."""

    CONFIG = """
[tsa]
default_tsa = authority
[authority]
serial = {folder}/serial
crypto_device = builtin
signer_digest = sha256
default_policy = 1.2.3.4.1
digests = sha256, sha384, sha512
accuracy = secs:1
ess_cert_id_alg = sha256
"""

    def __init__(self):
        root_key, self.key = (ec.generate_private_key(ec.SECP384R1()) for _ in range(2))
        root_name = name("timestamp-root")
        self.root = certificate(root_name, root_key, root_name, root_key, "2025-01-01", "2035-01-01", True)
        purpose = [(x509.ExtendedKeyUsage([Eku.TIME_STAMPING]), True)]
        self.leaf = certificate(
            name("timestamps"), self.key, root_name, root_key, "2025-01-01", "2035-01-01", False, purpose
        )

    def trusted(self):
        return {
            "uri": "https://timestamps.example",
            "certChain": {
                "certificates": [{"rawBytes": b64(der(self.leaf))}, {"rawBytes": b64(der(self.root))}]
            },
            "validFor": {"start": "2025-01-01T00:00:00Z"},
        }

    def stamp(self, signature, with_certificate):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            (folder / "data").write_bytes(signature)
            (folder / "serial").write_text("01")
            (folder / "config").write_text(self.CONFIG.format(folder=folder))
            (folder / "leaf.pem").write_bytes(pem(self.leaf))
            form, secret = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            key = self.key.private_bytes(serialization.Encoding.PEM, form, secret)
            (folder / "key.pem").write_bytes(key)
            query = ["openssl", "ts", "-query", "-data", "data", "-sha256", "-out", "query"]
            query += ["-cert"] if with_certificate else []
            reply = ["openssl", "ts", "-reply", "-config", "config", "-queryfile", "query"]
            reply += ["-signer", "leaf.pem", "-inkey", "key.pem", "-out", "reply"]
            for command in (query, reply):
                subprocess.run(command, cwd=folder, check=True, capture_output=True)
            return {"signedTimestamp": b64((folder / "reply").read_bytes())}


class SecondLog(Log):
    """A log of the second version of Rekor: it signs with Ed25519 and tells no time."""

    def __init__(self):
        self.key = ed25519.Ed25519PrivateKey.generate()
        raw = self.key.public_key().public_bytes(
            serialization.Encoding.Raw, serialization.PublicFormat.Raw
        )
        self.id = sha(b"log.example\n\x01" + raw).digest()

    def entry(self, body, kind, version):
        root, hashes_beside = self.tree(body)
        note = f"log.example\n5\n{b64(root)}\n"
        note += f"\n\u2014 log.example {b64(self.id[:4] + self.key.sign(note.encode()))}\n"
        return {
            "logIndex": "3",
            "logId": {"keyId": b64(self.id)},
            "kindVersion": {"kind": kind, "version": version},
            "inclusionProof": {
                "logIndex": "3",
                "rootHash": b64(root),
                "treeSize": "5",
                "hashes": hashes_beside,
                "checkpoint": {"envelope": note},
            },
            "canonicalizedBody": b64(body),
        }


def sigstore_vectors(files):
    root_key, middle_key = (ec.generate_private_key(ec.SECP384R1()) for _ in range(2))
    log, second_log = Log(), SecondLog()
    stamps, other_stamps = TimestampAuthority(), TimestampAuthority()
    root_name, middle_name = name("sigstore"), name("sigstore-intermediate")
    root = certificate(root_name, root_key, root_name, root_key, "2025-01-01", "2035-01-01", True)
    usage = [(x509.ExtendedKeyUsage([Eku.CODE_SIGNING]), False)]
    middle = certificate(
        middle_name, middle_key, root_name, root_key, "2025-01-01", "2035-01-01", True, usage
    )
    write(
        "sigstore.trusted_root.json",
        json.dumps(
            {
                "mediaType": "application/vnd.dev.sigstore.trustedroot+json;version=0.1",
                "tlogs": [
                    {
                        "baseUrl": "https://log.example",
                        "hashAlgorithm": "SHA2_256",
                        "publicKey": {
                            "rawBytes": b64(spki(log.key)),
                            "keyDetails": "PKIX_ECDSA_P256_SHA_256",
                            "validFor": {"start": "2025-01-01T00:00:00.000Z"},
                        },
                        "logId": {"keyId": b64(log.id)},
                    },
                    {
                        "baseUrl": "https://log2.example",
                        "hashAlgorithm": "SHA2_256",
                        "publicKey": {
                            "rawBytes": b64(spki(second_log.key)),
                            "keyDetails": "PKIX_ED25519",
                            "validFor": {"start": "2025-01-01T00:00:00.000Z"},
                        },
                        "logId": {"keyId": b64(second_log.id)},
                    },
                ],
                "certificateAuthorities": [
                    {
                        "uri": "https://ca.example",
                        "certChain": {
                            "certificates": [{"rawBytes": b64(der(middle))}, {"rawBytes": b64(der(root))}]
                        },
                        "validFor": {"start": "2025-01-01T00:00:00Z", "end": "2027-01-01T00:00:00Z"},
                    }
                ],
                "ctlogs": [],
                "timestampAuthorities": [stamps.trusted()],
            }
        ),
    )

    def signer(start, end, purpose=Eku.CODE_SIGNING):
        key = ec.generate_private_key(ec.SECP256R1())
        issuer = b"\x0c" + bytes([len(ISSUER)]) + ISSUER.encode()
        leaf = certificate(
            x509.Name([]),
            key,
            middle_name,
            middle_key,
            start,
            end,
            False,
            [
                (x509.ExtendedKeyUsage([purpose]), False),
                (x509.SubjectAlternativeName([x509.UniformResourceIdentifier(IDENTITY)]), True),
                (x509.UnrecognizedExtension(ObjectIdentifier("1.3.6.1.4.1.57264.1.8"), issuer), False),
            ],
        )
        payload = skill_statement(files)
        return leaf, payload, key.sign(pae(payload), ec.ECDSA(hashes.SHA256()))

    def sign(file, kind, version, minutes=1, code_signing=True):
        purpose = Eku.CODE_SIGNING if code_signing else Eku.SERVER_AUTH
        leaf, payload, signature = signer("2026-03-01T12:00:00", "2026-03-01T12:10:00", purpose)
        payload_hash = {"algorithm": "sha256", "value": sha(payload).hexdigest()}
        if kind == "dsse":
            spec = {
                "envelopeHash": {"algorithm": "sha256", "value": "00" * 32},
                "payloadHash": payload_hash,
                "signatures": [{"signature": b64(signature), "verifier": b64(pem(leaf))}],
            }
        else:
            logged = {"sig": b64(b64(signature).encode()), "publicKey": b64(pem(leaf))}
            logged = {"payloadType": PAYLOAD_TYPE, "signatures": [logged]}
            spec = {"content": {"envelope": logged, "payloadHash": payload_hash}}
        body = {"apiVersion": version, "kind": kind, "spec": spec}
        body = json.dumps(body, sort_keys=True, separators=(",", ":")).encode()
        time = int(day("2026-03-01T12:00:00").timestamp()) + 60 * minutes
        entry = log.entry(body, time, kind, version)
        material = {"certificate": {"rawBytes": b64(der(leaf))}}
        write(file, json.dumps(bundle(material, payload, signature, [entry])))

    def sign_second(file, kind, authority=stamps, with_certificate=False, ended=False):
        """A bundle as of now, with a log entry of the second version and a timestamp."""
        now = dt.datetime.now(dt.timezone.utc).replace(microsecond=0, tzinfo=None)
        minutes = lambda number: (now + dt.timedelta(minutes=number)).isoformat()
        leaf, payload, signature = signer(minutes(-15), minutes(-5 if ended else 5))
        verifier = {"keyDetails": "PKIX_ECDSA_P256_SHA_256", "x509Certificate": {"rawBytes": b64(der(leaf))}}
        logged = {"content": b64(signature), "verifier": verifier}
        if kind == "dsse":
            hashed = {"algorithm": "SHA2_256", "digest": b64(sha(payload).digest())}
            spec = {"dsseV002": {"payloadHash": hashed, "signatures": [logged]}}
        else:
            hashed = {"algorithm": "SHA2_256", "digest": b64(sha(pae(payload)).digest())}
            spec = {"hashedRekordV002": {"data": hashed, "signature": logged}}
        body = {"apiVersion": "0.0.2", "kind": kind, "spec": spec}
        body = json.dumps(body, sort_keys=True, separators=(",", ":")).encode()
        material = {"certificate": {"rawBytes": b64(der(leaf))}}
        made = bundle(material, payload, signature, [second_log.entry(body, kind, "0.0.2")])
        made["verificationMaterial"]["timestampVerificationData"] = {
            "rfc3161Timestamps": [authority.stamp(signature, with_certificate)]
        }
        write(file, json.dumps(made))

    sign_second("rekor2.dsse.sigstore.json", "dsse")
    sign_second("rekor2.hashed.sigstore.json", "hashedrekord", with_certificate=True)
    sign_second("rekor2.other-authority.sigstore.json", "hashedrekord", other_stamps, True)
    sign_second("rekor2.late.sigstore.json", "hashedrekord", ended=True)
    sign("sigstore.dsse.sigstore.json", "dsse", "0.0.1")
    sign("sigstore.intoto.sigstore.json", "intoto", "0.0.2")
    sign("sigstore.late.sigstore.json", "dsse", "0.0.1", minutes=11)
    sign("sigstore.not-for-code.sigstore.json", "dsse", "0.0.1", code_signing=False)


def main():
    files = skill_files()
    ed25519_vectors(files)
    key_bundle(files)
    model_signing_vectors(files)
    sigstore_vectors(files)


if __name__ == "__main__":
    main()
