//! `resources/list`, page after page, within bounds that no honest server reaches.

use skillwire_dialects::{ListedResource, ResourcePage};
use skillwire_protocol::{NextPage, PageLimits, Pager, Truncation, method};
use skillwire_trust::Refusal;

use super::{AskError, SkillServer};
use crate::page;

/// The most pages that the host requests.
pub(super) const MOST_PAGES: usize = 20;

/// The most resources that the host looks at.
pub(super) const MOST_ITEMS: usize = 5_000;

/// The resources that the host looked at, and whether there were more.
pub(super) struct Resources {
    pub(super) items: Vec<ListedResource>,
    pub(super) truncated: Option<Refusal>,
}

/// Lists all resources, or those of a scope. A failed request stays an [`AskError`], so that the
/// detection can go on with the next dialect.
pub(super) async fn list<S: SkillServer>(
    server: &S,
    scope: Option<&str>,
) -> Result<Result<Resources, Refusal>, AskError> {
    let mut items = Vec::new();
    let mut pager = Pager::new(PageLimits::new(MOST_PAGES, MOST_ITEMS));
    let stopped = loop {
        let mut params = pager.params();
        params.extend(scope.map(|scope| ("uri".to_owned(), scope.into())));
        let answer = server.ask(method::RESOURCES_LIST, params).await?;
        let page = match ResourcePage::read(answer.text()) {
            Ok(page) => page,
            Err(invalid) => {
                return Ok(Err(page::protocol_error(
                    &server.origin(),
                    method::RESOURCES_LIST,
                    invalid,
                )));
            }
        };
        let received = page.resources.len();
        items.extend(page.resources);
        match pager.received(received, page.next) {
            NextPage::Ask => {}
            NextPage::End => break None,
            NextPage::Stop(truncation) => break Some(truncation),
        }
    };
    items.truncate(MOST_ITEMS);
    let truncated = stopped.map(|truncation| match truncation {
        Truncation::Items(most) => server.exhausted(format!("at most {most} resources"), "more"),
        Truncation::Pages(most) => server.exhausted(format!("at most {most} pages"), "more"),
        cursor => page::protocol_error(&server.origin(), method::RESOURCES_LIST, cursor),
    });
    Ok(Ok(Resources { items, truncated }))
}
