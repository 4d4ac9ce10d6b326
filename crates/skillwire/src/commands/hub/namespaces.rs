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
        let path = format!("/namespaces?dry_run={}", args.dry_run);
        let made = hub.send_json::<NamespaceInfo>(Method::POST, &path, &wish).await?;
        let name = &made.value.name;
        if args.target.json {
            report::json(&mut std::io::stdout().lock(), &made.json)?;
        } else if args.dry_run {
            writeln!(prose::stdout(), "The namespace `{name}` would be made.")?;
        } else {
            writeln!(prose::stdout(), "Made the namespace `{name}`.")?;
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
        let namespace = segment(&args.namespace)?;
        let path = format!("/namespaces/{namespace}/grants?dry_run={}", args.dry_run);
        let grant = GrantInfo { subject: args.subject.clone(), role: args.role.clone() };
        let method = if args.remove { Method::DELETE } else { Method::PUT };
        let changed: Answer<NamespaceInfo> = hub.send_json(method, &path, &grant).await?;
        show_changed(&changed, args.dry_run, args.target.json)
    })
}

pub(super) fn change(args: &HubNamespaceChangeArgs) -> Outcome {
    with_hub(&args.target, async |hub| {
        let namespace = segment(&args.namespace)?;
        let path = format!("/namespaces/{namespace}?dry_run={}", args.dry_run);
        let HubNamespaceChanges { protected, review, max_skills, max_versions, max_bytes } =
            args.changes;
        let wish = NamespaceSettings { protected, review, max_skills, max_versions, max_bytes };
        let changed: Answer<NamespaceInfo> = hub.send_json(Method::PATCH, &path, &wish).await?;
        show_changed(&changed, args.dry_run, args.target.json)
    })
}

/// Shows a namespace after a change, or as the change would leave it.
fn show_changed(changed: &Answer<NamespaceInfo>, dry_run: bool, json: bool) -> Outcome {
    if json {
        report::json(&mut std::io::stdout().lock(), &changed.json)?;
        return Ok(Exit::Ok);
    }
    if dry_run {
        writeln!(prose::stderr(), "Nothing was changed. The namespace would be:")?;
    }
    show(&changed.value)?;
    Ok(Exit::Ok)
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
        let (namespace, id) = (segment(&args.namespace)?, args.id);
        let path = format!("/namespaces/{namespace}/publishers/{id}?dry_run={}", args.dry_run);
        let empty: &[(http::HeaderName, http::HeaderValue)] = &[];
        hub.send::<()>(Method::DELETE, &path, empty, bytes::Bytes::new()).await?;
        if args.target.json {
            let done = serde_json::json!({"id": id, "trusted": args.dry_run});
            report::json(&mut std::io::stdout().lock(), &done)?;
        } else {
            let happens = if args.dry_run { "would no longer trust" } else { "no longer trusts" };
            writeln!(prose::stdout(), "`{}` {happens} workflow {id}.", args.namespace)?;
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
        let namespace = segment(&args.namespace)?;
        let path = format!("/namespaces/{namespace}/publishers?dry_run={}", args.dry_run);
        let subject = args.subject.clone().unwrap_or_else(|| format!("ci@{}", args.namespace));
        let wish = NewPublisher { issuer: args.issuer.clone(), claims, subject };
        let trusted = hub.send_json::<PublisherInfo>(Method::POST, &path, &wish).await?;
        if args.target.json {
            report::json(&mut std::io::stdout().lock(), &trusted.json)?;
        } else {
            let subject = printable(&trusted.value.subject);
            let namespace = &trusted.value.namespace;
            let may = if args.dry_run { "could" } else { "may" };
            writeln!(
                prose::stdout(),
                "Such workflows {may} publish into `{namespace}` as `{subject}`."
            )?;
        }
        Ok(Exit::Ok)
    })
}
