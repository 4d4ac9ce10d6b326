//! X.509 certificates: who they name, and whether a trusted root issued them.

use std::time::{SystemTime, UNIX_EPOCH};

use rustls_pki_types::{
    CertificateDer, SignatureVerificationAlgorithm, UnixTime, pem::PemObject as _,
};
use skillwire_core::Digest;
use webpki::{EndEntityCert, KeyUsage, anchor_from_trusted_cert, ring as algorithms};
use x509_cert::{
    Certificate,
    der::{
        Decode as _,
        asn1::{ObjectIdentifier, Utf8StringRef},
    },
    ext::pkix::{self, SubjectAltName, name::GeneralName},
};

use crate::{key::PublicKey, not_verified::NotVerified};

/// The extended key usage "code signing", as certificates encode it.
const CODE_SIGNING: &[u8] = &[0x2b, 6, 1, 5, 5, 7, 3, 3];

/// The extended key usage "time stamping".
const TIME_STAMPING: &[u8] = &[0x2b, 6, 1, 5, 5, 7, 3, 8];

/// Fulcio writes the issuer of the identity token here, as a text in DER.
const FULCIO_ISSUER: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.6.1.4.1.57264.1.8");

/// Older certificates of Fulcio have it here, as plain bytes.
const FULCIO_ISSUER_V1: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.6.1.4.1.57264.1.1");

/// Fulcio writes identities that are neither a mail address nor a URI into such a name.
const FULCIO_OTHER_NAME: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.6.1.4.1.57264.1.7");

/// The most certificates in a file of roots.
const MAX_ROOTS: usize = 64;

/// The algorithms by which one certificate may sign another.
static ISSUING: &[&dyn SignatureVerificationAlgorithm] = &[
    algorithms::ECDSA_P256_SHA256,
    algorithms::ECDSA_P256_SHA384,
    algorithms::ECDSA_P384_SHA256,
    algorithms::ECDSA_P384_SHA384,
    algorithms::ED25519,
    algorithms::RSA_PKCS1_2048_8192_SHA256,
    algorithms::RSA_PKCS1_2048_8192_SHA384,
    algorithms::RSA_PKCS1_2048_8192_SHA512,
];

/// Why bytes are not certificates; the text continues "the file".
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidCertificate {
    /// The text is not in PEM form.
    #[error("is not in PEM form")]
    Pem(#[source] rustls_pki_types::pem::Error),
    /// There is no certificate in it.
    #[error("holds no certificate")]
    Empty,
    /// There are too many certificates in it.
    #[error("holds more than {MAX_ROOTS} certificates")]
    TooMany,
    /// The bytes are not a certificate.
    #[error("holds a certificate that cannot be read")]
    Der(#[source] x509_cert::der::Error),
    /// The certificate cannot be a root.
    #[error("holds a certificate that cannot be a root")]
    Root(#[source] webpki::Error),
}

/// What certificate a signature must have besides one that leads to a root.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LeafUsage {
    /// It must be for code signing.
    CodeSigning,
    /// It may say nothing of its usage; if it does, code signing must be among it.
    CodeSigningIfStated,
    /// It must be for timestamps.
    TimeStamping,
}

/// Root certificates that the user trusts, such as a vendor's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RootCertificates(Vec<RootCertificate>);

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RootCertificate {
    der: CertificateDer<'static>,
    from: SystemTime,
    until: SystemTime,
}

impl RootCertificates {
    /// Reads certificates in PEM form.
    pub fn from_pem(text: &str) -> Result<Self, InvalidCertificate> {
        let mut roots = Vec::new();
        for der in CertificateDer::pem_slice_iter(text.as_bytes()) {
            if roots.len() == MAX_ROOTS {
                return Err(InvalidCertificate::TooMany);
            }
            roots.push(RootCertificate::new(der.map_err(InvalidCertificate::Pem)?)?);
        }
        if roots.is_empty() { Err(InvalidCertificate::Empty) } else { Ok(Self(roots)) }
    }

    /// Returns the digest of each certificate.
    pub(crate) fn fingerprints(&self) -> impl Iterator<Item = Digest> {
        self.0.iter().map(RootCertificate::fingerprint)
    }

    /// Verifies that one of the roots issued a certificate, directly or through others.
    pub(crate) fn verify(
        &self,
        leaf: &LeafCertificate<'_>,
        others: &[CertificateDer<'_>],
        time: SystemTime,
        usage: LeafUsage,
    ) -> Result<&RootCertificate, NotVerified> {
        let mut nearest = NotVerified::UntrustedRoot;
        for root in &self.0 {
            match root.verify(leaf, others, time, usage) {
                Ok(()) => return Ok(root),
                Err(error) if error.progress() > nearest.progress() => nearest = error,
                Err(_) => {}
            }
        }
        Err(nearest)
    }
}

impl RootCertificate {
    pub(crate) fn new(der: CertificateDer<'static>) -> Result<Self, InvalidCertificate> {
        let parsed = Certificate::from_der(&der).map_err(InvalidCertificate::Der)?;
        anchor_from_trusted_cert(&der).map_err(InvalidCertificate::Root)?;
        let validity = parsed.tbs_certificate().validity();
        let from = validity.not_before;
        let until = validity.not_after;
        Ok(Self { from: from.to_system_time(), until: until.to_system_time(), der })
    }

    /// Returns the digest of the certificate, by which users know it.
    pub(crate) fn fingerprint(&self) -> Digest {
        Digest::of(&self.der)
    }

    /// Verifies that this root issued a certificate, directly or through others, and that each of
    /// them was valid at a time.
    pub(crate) fn verify(
        &self,
        leaf: &LeafCertificate<'_>,
        others: &[CertificateDer<'_>],
        time: SystemTime,
        usage: LeafUsage,
    ) -> Result<(), NotVerified> {
        let anchor = anchor_from_trusted_cert(&self.der).map_err(not_usable)?;
        let certificate = EndEntityCert::try_from(leaf.der).map_err(not_usable)?;
        let since_epoch = time.duration_since(UNIX_EPOCH).unwrap_or_default();
        let usage = match usage {
            LeafUsage::CodeSigning => KeyUsage::required(CODE_SIGNING),
            LeafUsage::CodeSigningIfStated => KeyUsage::required_if_present(CODE_SIGNING),
            LeafUsage::TimeStamping => KeyUsage::required(TIME_STAMPING),
        };
        let time_of_use = UnixTime::since_unix_epoch(since_epoch);
        certificate
            .verify_for_usage(ISSUING, &[anchor], others, time_of_use, usage, None, None)
            .map_err(not_usable)?;
        // The library trusts a root whenever it is asked to.
        if time > self.until {
            return Err(NotVerified::CertificateExpired);
        }
        if time < self.from {
            return Err(NotVerified::CertificateNotYetValid);
        }
        leaf.check_key_usage()
    }
}

fn not_usable(error: webpki::Error) -> NotVerified {
    match error {
        // A root of the same name with another key is another root.
        webpki::Error::UnknownIssuer | webpki::Error::InvalidSignatureForPublicKey => {
            NotVerified::UntrustedRoot
        }
        webpki::Error::CertExpired { .. } => NotVerified::CertificateExpired,
        webpki::Error::CertNotValidYet { .. } => NotVerified::CertificateNotYetValid,
        other => NotVerified::CertificateUnusable {
            problem: "it breaks a rule of X.509".into(),
            source: Some(other),
        },
    }
}

fn unusable(problem: &str) -> NotVerified {
    NotVerified::CertificateUnusable { problem: problem.into(), source: None }
}

/// The certificate of a signer.
pub(crate) struct LeafCertificate<'a> {
    der: &'a CertificateDer<'a>,
    parsed: Certificate,
}

impl<'a> LeafCertificate<'a> {
    pub(crate) fn parse(der: &'a CertificateDer<'a>) -> Result<Self, NotVerified> {
        let parsed = Certificate::from_der(der).map_err(|error| NotVerified::Malformed {
            what: "the certificate".into(),
            problem: "is not valid DER".into(),
            source: Some(error.into()),
        })?;
        Ok(Self { der, parsed })
    }

    pub(crate) fn der(&self) -> &CertificateDer<'a> {
        self.der
    }

    /// Returns the public key, if it is of a kind that can verify a signature here.
    pub(crate) fn public_key(&self) -> Result<PublicKey, NotVerified> {
        use x509_cert::der::Encode as _;
        let spki = self.parsed.tbs_certificate().subject_public_key_info().to_der();
        let spki = spki.map_err(|_| unusable("its key cannot be read"))?;
        PublicKey::from_spki(&spki)
            .map_err(|_| NotVerified::unsupported("the kind of key in the certificate"))
    }

    /// Tells whether its key made a signature with one of the algorithms for certificates.
    pub(crate) fn verifies(&self, message: &[u8], signature: &[u8]) -> bool {
        let certificate = EndEntityCert::try_from(self.der);
        certificate.is_ok_and(|certificate| {
            ISSUING.iter().any(|by| certificate.verify_signature(*by, message, signature).is_ok())
        })
    }

    /// Returns the subject, such as `CN=Signing 1,O=Acme`.
    pub(crate) fn subject(&self) -> String {
        self.parsed.tbs_certificate().subject().to_string()
    }

    /// Returns every name of the signer: the subject, its common name, and the alternative names.
    pub(crate) fn names(&self) -> Result<Vec<String>, NotVerified> {
        let mut names = self.alternative_names()?;
        let subject = self.parsed.tbs_certificate().subject();
        if !subject.is_empty() {
            names.push(subject.to_string());
        }
        if let Ok(Some(name)) = subject.common_name() {
            names.push(name.value().into_owned());
        }
        Ok(names)
    }

    /// Returns the alternative names that are texts.
    pub(crate) fn alternative_names(&self) -> Result<Vec<String>, NotVerified> {
        let extension = self.parsed.tbs_certificate().get_extension::<SubjectAltName>();
        let extension = extension.map_err(|_| unusable("its alternative names cannot be read"))?;
        let Some((_, SubjectAltName(names))) = extension else { return Ok(Vec::new()) };
        let text = |name: &GeneralName| match name {
            GeneralName::Rfc822Name(text)
            | GeneralName::UniformResourceIdentifier(text)
            | GeneralName::DnsName(text) => Some(text.as_str().to_owned()),
            GeneralName::OtherName(other) if other.type_id == FULCIO_OTHER_NAME => other
                .value
                .decode_as::<Utf8StringRef<'_>>()
                .ok()
                .map(|text| text.as_str().to_owned()),
            _ => None,
        };
        Ok(names.iter().filter_map(text).collect())
    }

    /// Returns the issuer of the identity token that Fulcio issued the certificate for.
    pub(crate) fn token_issuer(&self) -> Option<String> {
        let extensions = self.parsed.tbs_certificate().extensions()?;
        let value = |oid| {
            let found = extensions.iter().find(|extension| extension.extn_id == oid)?;
            Some(found.extn_value.as_bytes())
        };
        if let Some(der) = value(FULCIO_ISSUER) {
            return Utf8StringRef::from_der(der).ok().map(|text| text.as_str().to_owned());
        }
        value(FULCIO_ISSUER_V1).and_then(|text| String::from_utf8(text.to_vec()).ok())
    }

    /// Refuses a certificate whose key is for something else than signatures.
    fn check_key_usage(&self) -> Result<(), NotVerified> {
        let usage = self.parsed.tbs_certificate().get_extension::<pkix::KeyUsage>();
        match usage.map_err(|_| unusable("its key usage cannot be read"))? {
            Some((_, usage)) if !usage.digital_signature() => {
                Err(unusable("its key is not for signatures"))
            }
            _ => Ok(()),
        }
    }
}
