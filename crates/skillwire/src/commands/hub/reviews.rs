//! `skillwire hub review`: what waits for a reviewer, what changed, and decisions.

use std::io::Write;

use http::Method;
use skillwire_hub_server::api::{
    FactChanges, NewDecision, ReviewDecided, ReviewDetail, ReviewInfo, SetChange, VersionDiff,
};

use super::{
    client::{HubClient, with_hub},
    publish::encoded,
    read::show_diff,
};
use crate::{
    args::{HubReviewDecideArgs, HubReviewListArgs, HubReviewShowArgs},
    commands::Outcome,
    exit::Exit,
    failure::Failure,
    output::{ADDED, FAINT, REMOVED, STRONG, WARNING, counted},
    prose, report,
    report::printable,
};

pub(super) fn list(args: &HubReviewListArgs) -> Outcome {
    with_hub(&args.target, async |hub| {
        let filters = [("upstream", &args.upstream), ("state", &args.state)];
        let given = filters
            .iter()
            .filter_map(|(name, value)| Some(format!("{name}={}", encoded(value.as_deref()?))));
        let path = format!("/reviews?{}", given.collect::<Vec<_>>().join("&"));
        let reviews: Vec<ReviewInfo> = hub.list(path.trim_end_matches('?'), 100_000).await?;
        if args.target.json {
            report::json(&mut std::io::stdout().lock(), &reviews)?;
            return Ok(Exit::Ok);
        }
        let mut out = prose::stdout();
        for review in &reviews {
            let age = std::time::Duration::from_secs(review.age_seconds - review.age_seconds % 60);
            let age = humantime::format_duration(age);
            let finding = match review.worst_finding.as_str() {
                "none" => "no finding".to_owned(),
                "unknown" => "not scanned to the end".to_owned(),
                worst => format!("worst finding {worst}"),
            };
            let line = format!("{}  {age} old, {finding}", name_of(review));
            writeln!(out, "{STRONG}{}{STRONG:#}  {}", review.id, printable(&line))?;
        }
        if reviews.is_empty() {
            writeln!(prose::stderr(), "Nothing waits for your review.")?;
        }
        Ok(Exit::Ok)
    })
}

fn name_of(review: &ReviewInfo) -> String {
    match (&review.upstream, &review.version) {
        (Some(upstream), _) => format!("{upstream}: {}", review.skill),
        (None, Some(version)) => format!("{}@{version}", review.skill),
        (None, None) => review.skill.clone(),
    }
}

pub(super) fn show(args: &HubReviewShowArgs) -> Outcome {
    with_hub(&args.target, async |hub| {
        let answer = hub.get::<ReviewDetail>(&format!("/reviews/{}", args.id)).await?;
        if args.target.json {
            report::json(&mut std::io::stdout().lock(), &answer.json)?;
        } else {
            show_detail(&mut anstream::stdout().lock(), answer.value)?;
        }
        Ok(Exit::Ok)
    })
}

fn show_detail(out: &mut impl Write, detail: ReviewDetail) -> std::io::Result<()> {
    let ReviewDetail { review, approved, files, frontmatter, facts } = detail;
    let since = &review.since;
    writeln!(out, "{STRONG}{}{STRONG:#}  {}", printable(&name_of(&review)), review.state)?;
    writeln!(out, "  {FAINT}content:{FAINT:#} {}", printable(&review.content))?;
    let approved = approved.as_deref().unwrap_or("nothing");
    writeln!(out, "  {FAINT}approved now:{FAINT:#} {}", printable(approved))?;
    writeln!(out, "  {FAINT}since:{FAINT:#} {}", printable(since))?;
    if let Some(publisher) = &review.publisher {
        writeln!(out, "  {FAINT}publisher:{FAINT:#} {}", printable(publisher))?;
    }
    if let Some(decision) = &review.decision {
        let line = format!("{} by {}: {}", decision.verdict, decision.by, decision.reason);
        writeln!(out, "  {FAINT}last decision:{FAINT:#} {}", printable(&line))?;
    }
    if let Some(facts) = &facts {
        show_facts(out, &review, facts)?;
    }
    if !frontmatter.is_empty() {
        writeln!(out, "{STRONG}frontmatter{STRONG:#}")?;
        for field in &frontmatter {
            let name = printable(field.field.trim_start_matches('/'));
            for (style, sign, value) in [(REMOVED, '-', &field.before), (ADDED, '+', &field.after)]
            {
                if let Some(value) = value {
                    let value = printable(&value.to_string());
                    writeln!(out, "  {style}{sign} {name}: {value}{style:#}")?;
                }
            }
        }
    }
    show_diff(out, &VersionDiff { from: String::new(), to: String::new(), files })
}

fn show_facts(
    out: &mut impl Write,
    review: &ReviewInfo,
    facts: &FactChanges,
) -> std::io::Result<()> {
    let sets: [(&str, &SetChange); 6] = [
        ("links", &facts.links),
        ("packages", &facts.packages),
        ("requests", &facts.requests),
        ("scripts", &facts.scripts),
        ("binary files", &facts.binaries),
        ("signed by", &facts.signers),
    ];
    for (name, SetChange { added, removed, same }) in sets {
        if added.is_empty() && removed.is_empty() && same.is_empty() {
            continue;
        }
        writeln!(out, "{STRONG}{name}{STRONG:#}")?;
        for text in added {
            writeln!(out, "  {ADDED}+ {}{ADDED:#}", printable(text))?;
        }
        for text in removed {
            writeln!(out, "  {REMOVED}- {}{REMOVED:#}", printable(text))?;
        }
        for text in same {
            writeln!(out, "    {FAINT}{}{FAINT:#}", printable(text))?;
        }
    }
    if !facts.findings.is_empty() {
        let worst = printable(&review.worst_finding);
        writeln!(out, "{STRONG}findings{STRONG:#} {WARNING}({worst}){WARNING:#}")?;
        for code in &facts.findings {
            let new = if facts.new_findings.contains(code) { " (new)" } else { "" };
            writeln!(out, "  {}{new}", printable(code))?;
        }
    }
    Ok(())
}

/// Decides about reviews one after the other; one that is refused does not keep the others from it.
pub(super) fn decide(args: &HubReviewDecideArgs, verdict: &str) -> Outcome {
    if args.content.is_some() && args.ids.len() > 1 {
        return Err(Failure::usage("`--content` is for one review.")
            .hint("Leave it out, or name one review."));
    }
    with_hub(&args.target, async |hub| {
        let mut decided = Vec::new();
        let mut failures = Vec::new();
        for id in &args.ids {
            match decide_one(hub, args, *id, verdict).await {
                Ok(done) => decided.push(done),
                Err(failure) => failures.push((*id, failure)),
            }
        }
        if args.ids.len() == 1 && !failures.is_empty() {
            return Err(failures.remove(0).1);
        }
        if args.target.json {
            report::json(&mut std::io::stdout().lock(), &decided)?;
        } else {
            let mut out = prose::stdout();
            for ReviewDecided { review, changed, dry_run } in &decided {
                let (id, name) = (review.id, printable(&name_of(review)));
                let verb = match (changed, dry_run) {
                    (_, true) => "would be",
                    (true, false) => "is now",
                    (false, false) => "already is",
                };
                writeln!(out, "{id}  {name} {verb} {}.", review.state)?;
            }
            if args.ids.len() > 1 {
                let (done, refused) = (decided.len(), failures.len());
                writeln!(out, "{} decided, {refused} refused.", counted(done, "review"))?;
            }
        }
        for (id, failure) in &failures {
            writeln!(prose::stderr(), "{WARNING}review {id}{WARNING:#}: {failure}")?;
        }
        Ok(if failures.is_empty() { Exit::Ok } else { Exit::Declined })
    })
}

async fn decide_one(
    hub: &HubClient,
    args: &HubReviewDecideArgs,
    id: u64,
    verdict: &str,
) -> Result<ReviewDecided, Failure> {
    let content = match &args.content {
        Some(content) => content.clone(),
        None => hub.get::<ReviewDetail>(&format!("/reviews/{id}")).await?.value.review.content,
    };
    let wish = NewDecision {
        verdict: verdict.to_owned(),
        reason: args.reason.clone(),
        content,
        until: args.until.clone(),
        dry_run: args.dry_run,
    };
    let path = format!("/reviews/{id}/decision");
    Ok(hub.send_json(Method::POST, &path, &wish).await?.value)
}
