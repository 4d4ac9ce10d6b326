//! `skillwire hub namespace`.

use std::{collections::BTreeMap, io::Write as _};

use http::Method;
use skillwire_hub_server::api::{
    GrantInfo, NamespaceInfo, NamespaceSettings, NewNamespace, NewPublisher, PublisherInfo,
};

use super::{
    client::{Answer, with_hub},
    publish::segment,
};
use crate::{
    args::{
        HubNamespaceChangeArgs, HubNamespaceChanges, HubNamespaceDistrustArgs,
        HubNamespaceGrantArgs, HubNamespaceListArgs, HubNamespaceNewArgs,
        HubNamespacePublishersArgs, HubNamespaceTrustArgs,
    },
    commands::Outcome,
    exit::Exit,
    failure::Failure,
    output::{STRONG, counted},
    prose, report,
    report::printable,
};

pub(super) fn create(args: &HubNamespaceNewArgs) -> Outcome {
    with_hub(&args.target, async |hub| {
        let wish = NewNamespace {
            name: args.name.clone(),
            protected: args.protected,
            review: args.review,
            public: args.public,
        };
        let made = hub.send_json::<NamespaceInfo>(Method::POST, "/namespaces", &wish).await?;
        if args.target.json {
            report::json(&mut std::io::stdout().lock(), &made.json)?;
        } else {
            writeln!(prose::stdout(), "Made the namespace `{}`.", made.value.name)?;
        }
        Ok(Exit::Ok)
    })
}

pub(super) fn list(args: &HubNamespaceListArgs) -> Outcome {
    with_hub(&args.target, async |hub| {
        let namespaces: Vec<NamespaceInfo> = hub.list("/namespaces", 100_000).await?;
        if args.target.json {
            report::json(&mut std::io::stdout().lock(), &namespaces)?;
            return Ok(Exit::Ok);
        }
        for namespace in &namespaces {
            show(namespace)?;
        }
        Ok(Exit::Ok)
    })
}

fn show(namespace: &NamespaceInfo) -> Result<(), Failure> {
    let mut out = prose::stdout();
    let skills = counted(usize::try_from(namespace.skills).unwrap_or(usize::MAX), "skill");
    let rules = [(namespace.protected, ", protected"), (namespace.review, ", reviewed")];
    let rules: String = rules.iter().filter(|(set, _)| *set).map(|(_, word)| *word).collect();
    writeln!(
        out,
        "{STRONG}{}{STRONG:#}  {skills}, {} bytes{rules}",
        namespace.name, namespace.bytes
    )?;
    for GrantInfo { subject, role } in &namespace.grants {
        writeln!(out, "  {role}  {}", printable(subject))?;
    }
    Ok(())
}

pub(super) fn grant(args: &HubNamespaceGrantArgs) -> Outcome {
    with_hub(&args.target, async |hub| {
        let path = format!("/namespaces/{}/grants", segment(&args.namespace)?);
        let grant = GrantInfo { subject: args.subject.clone(), role: args.role.clone() };
        let method = if args.remove { Method::DELETE } else { Method::PUT };
        let changed: Answer<NamespaceInfo> = hub.send_json(method, &path, &grant).await?;
        if args.target.json {
            report::json(&mut std::io::stdout().lock(), &changed.json)?;
        } else {
            show(&changed.value)?;
        }
        Ok(Exit::Ok)
    })
}

pub(super) fn change(args: &HubNamespaceChangeArgs) -> Outcome {
    with_hub(&args.target, async |hub| {
        let path = format!("/namespaces/{}", segment(&args.namespace)?);
        let HubNamespaceChanges { protected, review, max_skills, max_versions, max_bytes } =
            args.changes;
        let wish = NamespaceSettings { protected, review, max_skills, max_versions, max_bytes };
        let changed: Answer<NamespaceInfo> = hub.send_json(Method::PATCH, &path, &wish).await?;
        if args.target.json {
            report::json(&mut std::io::stdout().lock(), &changed.json)?;
        } else {
            show(&changed.value)?;
        }
        Ok(Exit::Ok)
    })
}

pub(super) fn publishers(args: &HubNamespacePublishersArgs) -> Outcome {
    with_hub(&args.target, async |hub| {
        let path = format!("/namespaces/{}/publishers", segment(&args.namespace)?);
        let publishers: Vec<PublisherInfo> = hub.list(&path, 100_000).await?;
        if args.target.json {
            report::json(&mut std::io::stdout().lock(), &publishers)?;
            return Ok(Exit::Ok);
        }
        for publisher in &publishers {
            let claims = publisher.claims.iter().map(|(name, value)| format!("{name}={value}"));
            let claims = claims.collect::<Vec<_>>().join(" ");
            let line = format!("{}  {claims}  as {}", publisher.issuer, publisher.subject);
            writeln!(prose::stdout(), "{STRONG}{}{STRONG:#}  {}", publisher.id, printable(&line))?;
        }
        if publishers.is_empty() {
            writeln!(prose::stderr(), "`{}` trusts no workflow.", args.namespace)?;
        }
        Ok(Exit::Ok)
    })
}

pub(super) fn distrust(args: &HubNamespaceDistrustArgs) -> Outcome {
    with_hub(&args.target, async |hub| {
        let path = format!("/namespaces/{}/publishers/{}", segment(&args.namespace)?, args.id);
        let empty: &[(http::HeaderName, http::HeaderValue)] = &[];
        hub.send::<()>(Method::DELETE, &path, empty, bytes::Bytes::new()).await?;
        if args.target.json {
            let done = serde_json::json!({"id": args.id, "trusted": false});
            report::json(&mut std::io::stdout().lock(), &done)?;
        } else {
            writeln!(
                prose::stdout(),
                "`{}` no longer trusts workflow {}.",
                args.namespace,
                args.id
            )?;
        }
        Ok(Exit::Ok)
    })
}

pub(super) fn trust(args: &HubNamespaceTrustArgs) -> Outcome {
    let claim = |text: &String| {
        let (name, value) = text.split_once('=').ok_or_else(|| {
            Failure::usage(format!("`--claim {text}` has no `=`."))
                .hint("Write it like `--claim repository=acme/skills`.")
        })?;
        Ok::<_, Failure>((name.to_owned(), value.to_owned()))
    };
    let claims = args.claim.iter().map(claim).collect::<Result<BTreeMap<_, _>, _>>()?;
    with_hub(&args.target, async |hub| {
        let path = format!("/namespaces/{}/publishers", segment(&args.namespace)?);
        let subject = args.subject.clone().unwrap_or_else(|| format!("ci@{}", args.namespace));
        let wish = NewPublisher { issuer: args.issuer.clone(), claims, subject };
        let trusted = hub.send_json::<PublisherInfo>(Method::POST, &path, &wish).await?;
        if args.target.json {
            report::json(&mut std::io::stdout().lock(), &trusted.json)?;
        } else {
            let subject = printable(&trusted.value.subject);
            let namespace = &trusted.value.namespace;
            writeln!(
                prose::stdout(),
                "Such workflows may publish into `{namespace}` as `{subject}`."
            )?;
        }
        Ok(Exit::Ok)
    })
}
