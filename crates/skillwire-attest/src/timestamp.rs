//! Timestamps of RFC 3161: an authority's word that a signature was there at a time.

use std::time::SystemTime;

use ring::digest::{Algorithm, SHA256, SHA384, SHA512, digest};
use rustls_pki_types::CertificateDer;
use serde_json::Value;
use x509_cert::der::{
    Any, Decode as _, Encode as _, Reader as _, SliceReader, Tag, TagNumber, Tagged as _,
    asn1::{AnyRef, ObjectIdentifier},
};

use crate::{
    certificate::LeafCertificate,
    json::Members,
    not_verified::{NotVerified, at_most},
    sigstore_root::SigstoreRoot,
};

/// The largest timestamp.
const MAX_BYTES: usize = 64 * 1024;

/// The most certificates that a timestamp brings along.
const MAX_CERTIFICATES: usize = 8;

const SIGNED_DATA: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.7.2");
const TIMESTAMP_INFO: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.9.16.1.4");
const CONTENT_TYPE: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.9.3");
const MESSAGE_DIGEST: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.9.4");
const SIGNING_CERTIFICATE: ObjectIdentifier =
    ObjectIdentifier::new_unwrap("1.2.840.113549.1.9.16.2.47");

/// The hashes that are used, by their names.
const HASHES: [(ObjectIdentifier, &Algorithm); 3] = [
    (ObjectIdentifier::new_unwrap("2.16.840.1.101.3.4.2.1"), &SHA256),
    (ObjectIdentifier::new_unwrap("2.16.840.1.101.3.4.2.2"), &SHA384),
    (ObjectIdentifier::new_unwrap("2.16.840.1.101.3.4.2.3"), &SHA512),
];

/// A result of reading DER.
type Read<T> = Result<T, x509_cert::der::Error>;

/// A timestamp of which nothing is verified yet, but that its parts fit together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Timestamp {
    time: SystemTime,
    /// What the time is for: the digest of a signature.
    imprint: Imprint,
    /// What the authority signed, which has the digest of the time and of the imprint.
    attributes: Vec<u8>,
    signature: Vec<u8>,
    /// The SHA-256 digest of the authority's certificate, if it is signed, too.
    certificate_digest: Option<Vec<u8>>,
    /// Certificates that came along.
    certificates: Vec<CertificateDer<'static>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Imprint {
    algorithm: &'static Algorithm,
    digest: Vec<u8>,
}

impl Imprint {
    fn is_of(&self, bytes: &[u8]) -> bool {
        digest(self.algorithm, bytes).as_ref() == self.digest
    }
}

impl Timestamp {
    /// Reads the timestamp of a bundle.
    pub(crate) fn parse(value: &Value) -> Result<Self, NotVerified> {
        let der = Members::of(value, "a timestamp")?.base64("signedTimestamp")?;
        at_most("bytes in a timestamp", der.len(), MAX_BYTES)?;
        read_response(&der).map_err(|error| NotVerified::Malformed {
            what: "a timestamp".into(),
            problem: "is not the answer of a timestamp authority".into(),
            source: Some(error.into()),
        })
    }

    /// Verifies that a trusted authority made the timestamp for this signature; returns the time.
    pub(crate) fn verify(
        &self,
        root: &SigstoreRoot,
        signature: &[u8],
    ) -> Result<SystemTime, NotVerified> {
        if !self.imprint.is_of(signature) {
            return Err(NotVerified::Timestamp("it is for another signature".into()));
        }
        for authority in root.timestamp_authorities(self.time) {
            // Where the trusted root has no certificate of the authority itself, the timestamp does.
            let leaves = authority.intermediates().iter().chain(&self.certificates);
            if leaves.filter_map(|der| LeafCertificate::parse(der).ok()).any(|leaf| {
                authority.issued_timestamp_certificate(&leaf, self.time) && self.is_signed_by(&leaf)
            }) {
                return Ok(self.time);
            }
        }
        Err(NotVerified::Timestamp("no trusted authority made it".into()))
    }

    fn is_signed_by(&self, leaf: &LeafCertificate<'_>) -> bool {
        let is_named = self
            .certificate_digest
            .as_ref()
            .is_none_or(|named| digest(&SHA256, leaf.der()).as_ref() == named);
        is_named && leaf.verifies(&self.attributes, &self.signature)
    }
}

/// Values of DER that stand one after the other.
struct Values<'a>(SliceReader<'a>);

impl<'a> Values<'a> {
    fn in_bytes(bytes: &'a [u8]) -> Read<Self> {
        SliceReader::new(bytes).map(Self)
    }

    /// The values that a value of this kind is made of.
    fn of(value: AnyRef<'a>, tag: Tag) -> Read<Self> {
        value.tag().assert_eq(tag)?;
        Self::in_bytes(value.value())
    }

    fn next(&mut self, tag: Tag) -> Read<AnyRef<'a>> {
        let value = AnyRef::decode(&mut self.0)?;
        value.tag().assert_eq(tag)?;
        Ok(value)
    }

    /// The next value if it is of this kind.
    fn next_if(&mut self, tag: Tag) -> Read<Option<AnyRef<'a>>> {
        if self.0.is_finished() || Tag::peek(&self.0)? != tag {
            return Ok(None);
        }
        self.next(tag).map(Some)
    }

    /// The values that the next value is made of.
    fn enter(&mut self, tag: Tag) -> Read<Self> {
        Self::of(self.next(tag)?, tag)
    }

    fn identifier(&mut self) -> Read<ObjectIdentifier> {
        self.next(Tag::ObjectIdentifier)?.decode_as()
    }

    fn expect(&mut self, expected: ObjectIdentifier) -> Read<()> {
        if self.identifier()? == expected { Ok(()) } else { Err(unexpected()) }
    }

    /// A hash that is used here.
    fn hash(&mut self) -> Read<&'static Algorithm> {
        let name = self.enter(Tag::Sequence)?.identifier()?;
        let known = HASHES.iter().find(|(known, _)| *known == name);
        known.map(|(_, algorithm)| *algorithm).ok_or_else(unexpected)
    }

    fn number(&mut self) -> Read<u8> {
        self.next(Tag::Integer)?.decode_as()
    }
}

fn unexpected() -> x509_cert::der::Error {
    Tag::ObjectIdentifier.value_error().into()
}

const fn context(number: u32) -> Tag {
    Tag::ContextSpecific { constructed: true, number: TagNumber(number) }
}

/// Reads a `TimeStampResp`.
fn read_response(der: &[u8]) -> Read<Timestamp> {
    let mut response = Values::of(AnyRef::from_der(der)?, Tag::Sequence)?;
    // 0 is granted, 1 is granted with modifications.
    if response.enter(Tag::Sequence)?.number()? > 1 {
        return Err(unexpected());
    }
    let mut content = response.enter(Tag::Sequence)?;
    content.expect(SIGNED_DATA)?;
    let mut data = content.enter(context(0))?.enter(Tag::Sequence)?;
    data.number()?;
    data.next(Tag::Set)?;
    let mut inside = data.enter(Tag::Sequence)?;
    inside.expect(TIMESTAMP_INFO)?;
    let info = inside.enter(context(0))?.next(Tag::OctetString)?.value();
    let mut certificates = Vec::new();
    if let Some(listed) = data.next_if(context(0))? {
        let mut listed = Values::in_bytes(listed.value())?;
        while let Some(certificate) = listed.next_if(Tag::Sequence)? {
            if certificates.len() == MAX_CERTIFICATES {
                return Err(unexpected());
            }
            certificates.push(CertificateDer::from(certificate.to_der()?));
        }
    }
    data.next_if(context(1))?;
    let mut signers = data.enter(Tag::Set)?;
    let signer = signers.enter(Tag::Sequence)?;
    if !signers.0.is_finished() {
        return Err(unexpected());
    }
    let SignerInfo { attributes, signature, certificate_digest } = read_signer(signer, info)?;
    let (time, imprint) = read_info(info)?;
    Ok(Timestamp { time, imprint, attributes, signature, certificate_digest, certificates })
}

struct SignerInfo {
    attributes: Vec<u8>,
    signature: Vec<u8>,
    certificate_digest: Option<Vec<u8>>,
}

/// Reads a `SignerInfo`, whose attributes must have the digest of `info`.
fn read_signer(mut signer: Values<'_>, info: &[u8]) -> Read<SignerInfo> {
    signer.number()?;
    // Who signed, in either of two forms. The certificate that fits the signature decides.
    if signer.next_if(Tag::Sequence)?.is_none() {
        AnyRef::decode(&mut signer.0)?;
    }
    let hash = signer.hash()?;
    let listed = signer.next(context(0))?.value();
    signer.next(Tag::Sequence)?;
    let signature = signer.next(Tag::OctetString)?.value().to_vec();
    let mut certificate_digest = None;
    let mut has_type = false;
    let mut has_digest = false;
    let mut attributes = Values::in_bytes(listed)?;
    while let Some(attribute) = attributes.next_if(Tag::Sequence)? {
        let mut attribute = Values::in_bytes(attribute.value())?;
        let name = attribute.identifier()?;
        let mut values = attribute.enter(Tag::Set)?;
        match name {
            CONTENT_TYPE => {
                values.expect(TIMESTAMP_INFO)?;
                has_type = true;
            }
            MESSAGE_DIGEST => {
                if values.next(Tag::OctetString)?.value() != digest(hash, info).as_ref() {
                    return Err(unexpected());
                }
                has_digest = true;
            }
            SIGNING_CERTIFICATE => {
                let mut named = values.enter(Tag::Sequence)?.enter(Tag::Sequence)?;
                let mut first = named.enter(Tag::Sequence)?;
                // Another hash than SHA-256 would stand first.
                certificate_digest = match first.next_if(Tag::OctetString)? {
                    Some(digest) => Some(digest.value().to_vec()),
                    None => return Err(unexpected()),
                };
            }
            _ => {}
        }
    }
    if !has_type || !has_digest {
        return Err(unexpected());
    }
    // The attributes are signed as a set of their own.
    let attributes = Any::new(Tag::Set, listed)?.to_der()?;
    Ok(SignerInfo { attributes, signature, certificate_digest })
}

/// Reads a `TSTInfo`.
fn read_info(info: &[u8]) -> Read<(SystemTime, Imprint)> {
    let mut info = Values::of(AnyRef::from_der(info)?, Tag::Sequence)?;
    if info.number()? != 1 {
        return Err(unexpected());
    }
    info.identifier()?;
    let mut imprint = info.enter(Tag::Sequence)?;
    let algorithm = imprint.hash()?;
    let digest = imprint.next(Tag::OctetString)?.value().to_vec();
    info.next(Tag::Integer)?;
    let time = info.next(Tag::GeneralizedTime)?.value();
    let time = read_time(time).ok_or_else(|| Tag::GeneralizedTime.value_error())?;
    Ok((time, Imprint { algorithm, digest }))
}

/// Reads a time such as `20260513192333Z`, which may have a fraction of a second.
fn read_time(text: &[u8]) -> Option<SystemTime> {
    let text = std::str::from_utf8(text).ok()?.strip_suffix('Z')?;
    let (whole, fraction) = text.split_at_checked(14)?;
    let is_fraction = |text: &str| {
        text.strip_prefix('.').is_some_and(|digits| {
            (1..=9).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit())
        })
    };
    if !whole.bytes().all(|byte| byte.is_ascii_digit())
        || !(fraction.is_empty() || is_fraction(fraction))
    {
        return None;
    }
    let part = |from, to| whole.get(from..to);
    let (year, month, day) = (part(0, 4)?, part(4, 6)?, part(6, 8)?);
    let (hour, minute, second) = (part(8, 10)?, part(10, 12)?, part(12, 14)?);
    let written = format!("{year}-{month}-{day}T{hour}:{minute}:{second}{fraction}Z");
    humantime::parse_rfc3339(&written).ok()
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use super::*;

    #[test]
    fn times_are_read_with_and_without_a_fraction() {
        let second = UNIX_EPOCH + Duration::from_secs(1_778_700_213);
        assert_eq!(read_time(b"20260513192333Z"), Some(second));
        assert_eq!(read_time(b"20260513192333.5Z"), Some(second + Duration::from_millis(500)));
        for bad in [
            "20260513192333",
            "2026051319233Z",
            "20260513192333.Z",
            "20261513192333Z",
            "2026051319233éZ",
        ] {
            assert_eq!(read_time(bad.as_bytes()), None, "{bad}");
        }
    }
}
