//! Tokens of issuers, checked for the clients of one channel.

use std::{sync::Arc, time::SystemTime};

use arc_swap::ArcSwap;
use skillwire_hub::Namespace;
use skillwire_jwt::NotAdmitted;
use skillwire_server::{
    PathPatterns, VisibleSkills,
    http::{TokenRefusal, VerifiedCaller, VerifyToken, Verifying},
};

use crate::{
    access::{AccessHandle, IssuerRefusal},
    classes::ChannelClasses,
    views::{CallerSight, CallerViews},
};

/// Admits callers with tokens of the configured issuers, each with what its class sees.
#[derive(Debug)]
pub(crate) struct ChannelVerifier {
    access: AccessHandle,
    classes: ChannelClasses,
    namespaces: ArcSwap<Box<[Namespace]>>,
    /// Whether what was checked once may be remembered.
    remembers: bool,
}

impl ChannelVerifier {
    pub(crate) fn new(classes: ChannelClasses, views: &CallerViews) -> Self {
        let namespaces = ArcSwap::from_pointee(Box::from(&*views.namespaces));
        Self { access: views.access.clone(), classes, namespaces, remembers: true }
    }

    /// Sets whether a checked token may be remembered. Where several addresses share a mount, a token for one
    /// of them would count for the others.
    pub(crate) fn remembering(self, remembers: bool) -> Self {
        Self { remembers, ..self }
    }

    pub(crate) fn update(&self, views: &CallerViews) {
        self.namespaces.store(Arc::new(Box::from(&*views.namespaces)));
    }
}

impl VerifyToken for ChannelVerifier {
    fn verify<'a>(&'a self, token: &'a str, resource: &'a str) -> Verifying<'a> {
        Box::pin(async move {
            let (caller, expires) = self.access.admit(token, resource).await?;
            let sight = CallerSight::of(&caller, &self.namespaces.load(), &self.access.now());
            let visible = visible(&self.classes, &sight).ok_or_else(|| {
                let text = "The hub has too many classes of callers; its operator can allow more.";
                TokenRefusal::Unavailable(text.to_owned())
            })?;
            let until = if self.remembers { expires } else { SystemTime::UNIX_EPOCH };
            Ok(VerifiedCaller::new(caller.subject.as_str(), visible, until))
        })
    }
}

/// The skills of a channel that a caller sees; `None` if there are too many classes of callers.
pub(crate) fn visible(classes: &ChannelClasses, sight: &CallerSight) -> Option<VisibleSkills> {
    match sight {
        CallerSight::Everything => Some(VisibleSkills::Everything),
        CallerSight::Nothing => Some(VisibleSkills::Matching(PathPatterns::default())),
        CallerSight::Class(class) => classes.visible(class),
    }
}

/// Says why a token is refused, in a sentence for the client.
impl From<IssuerRefusal> for TokenRefusal {
    fn from(error: IssuerRefusal) -> Self {
        let sentence = |text: String| {
            let mut text = text;
            if let Some(first) = text.get_mut(..1) {
                first.make_ascii_uppercase();
            }
            format!("{text}.")
        };
        match error {
            IssuerRefusal::OtherIssuer => {
                Self::Invalid("The token is unknown, or its issuer is not trusted here.".to_owned())
            }
            IssuerRefusal::Blocked => {
                Self::Invalid("The caller of the token is not admitted.".to_owned())
            }
            IssuerRefusal::NotAdmitted(error @ NotAdmitted::Scope(_)) => {
                Self::Scope(sentence(error.to_string()))
            }
            IssuerRefusal::NotAdmitted(NotAdmitted::Unavailable(error)) => {
                tracing::warn!(%error, "the keys of an issuer cannot be had");
                Self::Unavailable(
                    "The keys of the token's issuer cannot be fetched now.".to_owned(),
                )
            }
            IssuerRefusal::NotAdmitted(error) => Self::Invalid(sentence(error.to_string())),
        }
    }
}
