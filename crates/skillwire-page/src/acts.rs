//! Acting: what a form asks for, and where its reader goes next.

use http::StatusCode;

use crate::{
    addresses,
    model::{
        ActOutcome, AnswerKind, BatchItem, BatchView, Decision, PageAct, Section, SkillKey, Tone,
    },
    page::Visit,
    provider::{Filled, PageProblem, PageProvider},
    render,
    response::{self, PageResponse},
    texts as t,
};

/// The most skills that are decided at once.
const MAX_BATCH: usize = 100;

/// The longest reason.
const MAX_REASON: usize = 500;

/// Does what a form asks for; the guard and the form's token were checked.
pub(crate) async fn act<P: PageProvider>(visit: &Visit<'_, P>, path: &str) -> PageResponse {
    let done = match path {
        "/act/decide" => decide(visit).await,
        "/review/batch" => batch(visit).await,
        _ => other(visit, path).await,
    };
    match done {
        Ok(answer) => answer,
        Err(problem) => visit.problem(&problem).await,
    }
}

async fn other<P: PageProvider>(visit: &Visit<'_, P>, path: &str) -> Filled<PageResponse> {
    let params = &visit.params;
    let key = params.key();
    let act = match path {
        "/act/undo" => {
            let token = params.get("token").parse().map_err(|_| PageProblem::NotFound)?;
            let Some(decision) = visit.session.take(token) else {
                visit.session.say(Tone::Warning, t::NO_UNDO);
                return Ok(response::see_other(Section::Review.path()));
            };
            PageAct::Undo(decision)
        }
        "/act/read" => PageAct::Read(key, params.some("path").map(str::to_owned)),
        "/act/refresh" => PageAct::Refresh(key),
        "/act/revoke" => PageAct::Revoke(key),
        "/act/enable" => PageAct::SetEnabled(key, true),
        "/act/disable" => PageAct::SetEnabled(key, false),
        "/act/own" => PageAct::Own(params.get("name").to_owned(), params.get("about").to_owned()),
        _ => return Err(PageProblem::NotFound),
    };
    let outcome = visit.provider.act(&visit.session.reader, act).await?;
    tell(visit, outcome);
    Ok(response::see_other(params.back()))
}

/// Keeps what became of an act, for the next page to say it.
fn tell<P: PageProvider>(visit: &Visit<'_, P>, outcome: ActOutcome) {
    let session = visit.session;
    match outcome {
        ActOutcome::Done(sentence) if sentence.is_empty() => {}
        ActOutcome::Done(sentence) => session.say(Tone::Good, sentence),
        ActOutcome::Decided(sentence, decision) => {
            session.keep(decision);
            session.say(Tone::Good, sentence);
        }
        ActOutcome::Moved(sentence) | ActOutcome::Gone(sentence) => {
            session.say(Tone::Warning, format!("{} {sentence}", t::MOVED));
        }
        ActOutcome::Refused(sentence) => session.say(Tone::Bad, sentence),
    }
}

fn reason<P: PageProvider>(visit: &Visit<'_, P>) -> Option<String> {
    let reason: String = visit.params.get("reason").trim().chars().take(MAX_REASON).collect();
    (!reason.is_empty()).then_some(reason)
}

async fn decide<P: PageProvider>(visit: &Visit<'_, P>) -> Filled<PageResponse> {
    let params = &visit.params;
    let key = params.key();
    let decision = Decision {
        key: key.clone(),
        shown: params.get("shown").to_owned(),
        answer: AnswerKind::parse(params.get("answer")).ok_or(PageProblem::NotFound)?,
        tools: params.all("tool").map(str::to_owned).collect(),
        run: params.get("run") == "yes",
        reason: reason(visit),
    };
    let outcome = visit.provider.act(&visit.session.reader, PageAct::Decide(decision)).await?;
    let next = match &outcome {
        // The reader stays with a skill that was not decided about.
        ActOutcome::Moved(_) | ActOutcome::Refused(_) => addresses::review(&key),
        ActOutcome::Gone(_) => Section::Review.path().to_owned(),
        ActOutcome::Done(_) | ActOutcome::Decided(..) => match params.some("next") {
            Some(next) => addresses::review(&SkillKey::new(next)),
            None => Section::Review.path().to_owned(),
        },
    };
    tell(visit, outcome);
    Ok(response::see_other(&next))
}

/// Shows what was chosen once more, or records it.
async fn batch<P: PageProvider>(visit: &Visit<'_, P>) -> Filled<PageResponse> {
    let params = &visit.params;
    let answer = AnswerKind::parse(params.get("answer")).ok_or(PageProblem::NotFound)?;
    // What identifies a card holds no space; a key may.
    let chosen = params.all("chosen").filter_map(|chosen| chosen.split_once(' ')).take(MAX_BATCH);
    let chosen: Vec<(String, SkillKey)> =
        chosen.map(|(shown, key)| (shown.to_owned(), SkillKey::new(key))).collect();
    if params.get("confirmed") != "yes" {
        return summary(visit, answer, chosen).await;
    }
    let (mut done, mut left_out) = (0, 0);
    for (shown, key) in chosen {
        let reason = reason(visit);
        let decision = Decision { key, shown, answer, tools: Vec::new(), run: false, reason };
        match visit.provider.act(&visit.session.reader, PageAct::Decide(decision)).await {
            Ok(ActOutcome::Decided(_, recorded)) => {
                visit.session.keep(recorded);
                done += 1;
            }
            Ok(ActOutcome::Done(_)) => done += 1,
            Ok(ActOutcome::Moved(_) | ActOutcome::Gone(_) | ActOutcome::Refused(_)) | Err(_) => {
                left_out += 1;
            }
        }
    }
    let tone = if left_out == 0 { Tone::Good } else { Tone::Warning };
    visit.session.say(tone, t::batch_done(done, left_out));
    Ok(response::see_other(Section::Review.path()))
}

async fn summary<P: PageProvider>(
    visit: &Visit<'_, P>,
    answer: AnswerKind,
    chosen: Vec<(String, SkillKey)>,
) -> Filled<PageResponse> {
    let mut items = Vec::new();
    for (shown, key) in chosen {
        // A skill that is gone by now is left out.
        let Ok(review) = visit.provider.review(&visit.session.reader, &key).await else { continue };
        let is_as_chosen = review.shown == shown;
        items.push(BatchItem { review, is_as_chosen });
    }
    let view = BatchView { answer, items, reason: reason(visit) };
    let frame = visit.frame(Section::Review, "").await;
    let page = render::document(&frame, t::BATCH_TITLE, &render::batch(&frame, &view));
    Ok(response::html(StatusCode::OK, page))
}
