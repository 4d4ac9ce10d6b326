//! One start of a server and one complete listing.

use std::{collections::HashSet, path::Path, time::Instant};

use serde::Deserialize;

use crate::{
    broken::{Broken, Result},
    corpus::Corpus,
    proc,
    program::Program,
    server::PipeServer,
    wire,
};

/// What the listing cost.
pub(crate) struct Listed {
    /// Seconds from the spawn to the end of the last page.
    pub(crate) time: f64,
    /// Seconds of the server's processor time until then.
    pub(crate) cpu: f64,
    /// Bytes of memory the server held then, and the most it held until then.
    pub(crate) resident: f64,
    pub(crate) peak: f64,
    /// The answers.
    pub(crate) pages: Vec<Vec<u8>>,
}

impl Listed {
    pub(crate) async fn by(program: &Program, corpus: &Corpus, home: &Path) -> Result<Self> {
        let start = Instant::now();
        let mut server = PipeServer::start(program.over_stdio(&corpus.folder, home))?;
        let (mut pages, mut cursor) = (Vec::new(), None::<String>);
        loop {
            let params = wire::page_params(cursor.as_deref());
            let page = server.ask(&wire::message(pages.len(), "skills/list", params)).await?;
            cursor = wire::next_cursor(&page);
            pages.push(page);
            if cursor.is_none() || pages.len() > corpus.count {
                break;
            }
        }
        let time = start.elapsed().as_secs_f64();
        let (cpu, memory) = (proc::cpu(server.pid)?, proc::memory(server.pid)?);
        server.stop().await?;
        check(&pages, corpus.count)?;
        Ok(Self { time, cpu, resident: memory.resident, peak: memory.peak, pages })
    }
}

/// Checks that everything was listed; this is not part of the measured time.
fn check(pages: &[Vec<u8>], count: usize) -> Result<()> {
    #[derive(Deserialize)]
    struct Page<'a> {
        #[serde(borrow)]
        result: Skills<'a>,
    }
    #[derive(Deserialize)]
    struct Skills<'a> {
        #[serde(borrow)]
        skills: Vec<Entry<'a>>,
    }
    #[derive(Deserialize)]
    struct Entry<'a> {
        uri: &'a str,
    }
    let mut uris = HashSet::new();
    for page in pages {
        let page: Page<'_> = serde_json::from_slice(page).map_err(|error| {
            let start = String::from_utf8_lossy(&page[..page.len().min(300)]);
            Broken::new(format!("Not a page ({error}): {start}"))
        })?;
        uris.extend(page.result.skills.into_iter().map(|entry| entry.uri));
    }
    if uris.len() == count {
        return Ok(());
    }
    Err(Broken::new(format!("{} of {count} skills were listed.", uris.len())))
}
