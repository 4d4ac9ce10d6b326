//! Listing a web origin: requests the index at each of its places.

use std::time::Duration;

use skillwire_client::{WebClient, WebOrigin};
use skillwire_dialects::{
    Dialect, InvalidDocument,
    well_known::{INDEX, IndexPlace, OfferedSite, PLACES},
};
use skillwire_trust::{Reason, Refusal};

use super::{
    SkillServer,
    detection::{LIFETIME, collect, unknown_types},
};
use crate::remote::Listing;

/// The largest index that the host reads.
const MOST_BYTES: u64 = 4 << 20;

/// Lists a web origin.
pub(crate) async fn list<S: SkillServer>(
    server: &S,
    web: &WebClient,
) -> Result<(Listing, Duration), Refusal> {
    let origin = server.origin();
    let time = server.policy().budgets.answer_time;
    for place in PLACES {
        let url = web.origin().at(&format!("{place}{INDEX}"));
        let fetched = web.get(&url, MOST_BYTES, time).await;
        let Some(fetched) = fetched.map_err(|refusal| refusal.about(&origin))? else {
            continue;
        };
        let text = String::from_utf8_lossy(&fetched.bytes);
        match read(web.origin(), place, &url, &text) {
            Ok(site) => {
                let mut listing = collect(&origin, Dialect::WellKnown, site.skills);
                listing.warnings.extend(unknown_types(&origin, site.unknown));
                listing.private = true;
                return Ok((listing, LIFETIME));
            }
            // Many sites answer every URL with a page.
            Err(invalid) if place == PLACES[0] => tracing::debug!("{url}: {invalid}"),
            Err(invalid) => {
                return Err(Refusal::new(Reason::ProtocolError)
                    .about(origin)
                    .file(url)
                    .expected("a JSON object with a list `skills`")
                    .actual(invalid));
            }
        }
    }
    Err(Refusal::new(Reason::SkillsNotOffered)
        .about(origin)
        .expected("an index at `/.well-known/agent-skills/` or `/.well-known/skills/`")
        .actual("neither"))
}

fn read(
    web: &WebOrigin,
    place: &str,
    url: &str,
    text: &str,
) -> Result<OfferedSite, InvalidDocument> {
    let resolve = |reference: &str| {
        let resolved = WebOrigin::resolve(url, reference)?;
        (resolved.starts_with("https://") || web.holds(&resolved)).then_some(resolved)
    };
    IndexPlace { folder: &web.at(place), resolve: &resolve }.read(text)
}
