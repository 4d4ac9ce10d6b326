//! Reading: which view an address shows.

use http::StatusCode;
use maud::Markup;

use crate::{
    model::{CatalogueQuery, Section, TableQuery},
    page::{Visit, exported},
    provider::{Filled, PageProblem, PageProvider},
    render::{self, DiffLayout, SkillTab},
    response::{self, PageResponse},
    texts as t,
};

/// Answers a request that only reads.
pub(crate) async fn show<P: PageProvider>(visit: &Visit<'_, P>, path: &str) -> PageResponse {
    // What was decided can be taken back until the reader goes elsewhere.
    let leaves = Section::ALL.iter().any(|section| section.path() == path) && path != "/review";
    if leaves {
        visit.session.leave_review();
    }
    let answer = match path {
        "/" => catalogue(visit).await,
        "/skill" => skill(visit).await,
        "/file" => file(visit).await,
        "/image" => image(visit).await,
        "/diff" => diff(visit).await,
        "/review" if visit.params.some("id").is_some() => review(visit).await,
        "/review" => queue(visit).await,
        "/connect" => connect(visit).await,
        _ => table(visit, path).await,
    };
    match answer {
        Ok(answer) => answer,
        Err(problem) => visit.problem(&problem).await,
    }
}

/// Puts a view into its frame.
async fn framed<P: PageProvider>(
    visit: &Visit<'_, P>,
    (section, follows): (Section, &'static str),
    title: &str,
    view: impl FnOnce(&render::Frame) -> Markup,
) -> PageResponse {
    let frame = visit.frame(section, follows).await;
    let view = view(&frame);
    response::html(StatusCode::OK, render::document(&frame, title, &view))
}

/// The last page of a list, if the wanted one lies beyond it: the list became shorter, or the address
/// was changed by hand.
fn last_page(wanted: usize, total: usize, size: usize) -> Option<usize> {
    let last = total.div_ceil(size).max(1) - 1;
    (wanted > last).then_some(last)
}

async fn catalogue<P: PageProvider>(visit: &Visit<'_, P>) -> Filled<PageResponse> {
    let mut query = visit.params.catalogue_query();
    let mut view = visit.provider.catalogue(&visit.session.reader, &query).await?;
    if let Some(last) = last_page(query.page, view.total, CatalogueQuery::PAGE) {
        query.page = last;
        view = visit.provider.catalogue(&visit.session.reader, &query).await?;
    }
    if visit.params.some("part").is_some() {
        return Ok(response::html(StatusCode::OK, render::results(&query, &view)));
    }
    let place = (Section::Catalogue, "skills");
    let title = t::section(Section::Catalogue);
    Ok(framed(visit, place, title, |frame| render::catalogue(frame, &query, &view)).await)
}

async fn skill<P: PageProvider>(visit: &Visit<'_, P>) -> Filled<PageResponse> {
    let tab = SkillTab::parse(visit.params.get("view")).ok_or(PageProblem::NotFound)?;
    let view = visit.provider.skill(&visit.session.reader, &visit.params.key()).await?;
    let (place, page) = ((Section::Catalogue, "skills"), visit.params.page());
    Ok(framed(visit, place, &view.name, |frame| render::skill(frame, &view, tab, page)).await)
}

async fn file<P: PageProvider>(visit: &Visit<'_, P>) -> Filled<PageResponse> {
    let (key, path) = (visit.params.key(), visit.params.get("path"));
    let view = visit.provider.file(&visit.session.reader, &key, path).await?;
    let from = visit.params.number("from");
    let place = (Section::Catalogue, "");
    let title = view.file.path.clone();
    Ok(framed(visit, place, &title, |frame| render::file(frame, &view, from)).await)
}

async fn image<P: PageProvider>(visit: &Visit<'_, P>) -> Filled<PageResponse> {
    let (key, path) = (visit.params.key(), visit.params.get("path"));
    let image = visit.provider.image(&visit.session.reader, &key, path).await?;
    Ok(response::image(image))
}

async fn diff<P: PageProvider>(visit: &Visit<'_, P>) -> Filled<PageResponse> {
    let params = &visit.params;
    let (since, path) = (params.some("since"), params.some("path"));
    let view = visit.provider.diff(&visit.session.reader, &params.key(), since, path).await?;
    // Nothing differs at this path, or there is none.
    if path.is_some() && view.files.is_empty() {
        return Err(PageProblem::NotFound);
    }
    let layout = DiffLayout::parse(params.get("layout"));
    let place = (Section::Catalogue, "skills");
    let since = since.unwrap_or_default();
    let render = |frame: &render::Frame| render::diff(frame, &view, since, layout);
    Ok(framed(visit, place, t::WHAT_CHANGED, render).await)
}

async fn queue<P: PageProvider>(visit: &Visit<'_, P>) -> Filled<PageResponse> {
    let mut query = visit.params.catalogue_query();
    let mut view = visit.provider.queue(&visit.session.reader, &query).await?;
    if let Some(last) = last_page(query.page, view.total, CatalogueQuery::PAGE) {
        query.page = last;
        view = visit.provider.queue(&visit.session.reader, &query).await?;
    }
    let recent = visit.session.recent();
    let title = t::section(Section::Review);
    let render = |frame: &render::Frame| render::queue(frame, &view, &recent);
    Ok(framed(visit, (Section::Review, "skills"), title, render).await)
}

async fn review<P: PageProvider>(visit: &Visit<'_, P>) -> Filled<PageResponse> {
    let view = visit.provider.review(&visit.session.reader, &visit.params.key()).await?;
    let recent = visit.session.recent();
    let title = view.skill.name.clone();
    let render = |frame: &render::Frame| render::review(frame, &view, &recent);
    Ok(framed(visit, (Section::Review, "skills"), &title, render).await)
}

async fn connect<P: PageProvider>(visit: &Visit<'_, P>) -> Filled<PageResponse> {
    let view = visit.provider.connect(&visit.session.reader).await?;
    let title = t::section(Section::Connect);
    Ok(framed(visit, (Section::Connect, ""), title, |_| render::connect(&view)).await)
}

async fn table<P: PageProvider>(visit: &Visit<'_, P>, path: &str) -> Filled<PageResponse> {
    let mut query = visit.params.table_query();
    if let Some(section) = exported(path) {
        let format = visit.params.get("format");
        let text = visit.provider.export(&visit.session.reader, section, &query, format).await?;
        let (name, media_type) = match format {
            "csv" => ("skillwire.csv", "text/csv; charset=utf-8"),
            _ => ("skillwire.jsonl", "application/x-ndjson"),
        };
        return Ok(response::download(name, media_type, text));
    }
    let section = Section::ALL.into_iter().find(|section| section.path() == path);
    let section = section.ok_or(PageProblem::NotFound)?;
    let mut view = visit.provider.table(&visit.session.reader, section, &query).await?;
    let last = view.total.and_then(|total| last_page(query.page, total, TableQuery::PAGE));
    if let Some(last) = last {
        query.page = last;
        view = visit.provider.table(&visit.session.reader, section, &query).await?;
    }
    let follows = match section {
        Section::Audit | Section::Runs | Section::Context => "events",
        Section::Connect | Section::Settings => "",
        _ => "skills",
    };
    let title = t::section(section);
    let render = |frame: &render::Frame| render::table(frame, &query, &view);
    Ok(framed(visit, (section, follows), title, render).await)
}
