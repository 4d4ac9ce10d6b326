//! The page of a small provider, asked without a browser.
#![expect(clippy::unwrap_used, reason = "a helper that fails is a test that fails")]

use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::{Request, StatusCode};
use skillwire_page::{
    Filled, LiveState, Page, PageBody, PageHosts, PageOptions, PageProblem, PageProvider,
    PageResponse,
    model::{
        ActOutcome, CatalogueQuery, CatalogueRow, CatalogueView, Cell, ChangeKind, DiffView,
        FileChange, FileLines, FileRow, FileView, Image, PageAct, ScanResult, Section, Site,
        SkillKey, SkillState, SkillText, SkillView, TableQuery, TableRow, TableView, Tone,
    },
};

/// Has one skill, whose every text is an attack, and notes what it is asked to do.
#[derive(Default)]
struct OneSkill {
    acts: Mutex<Vec<PageAct>>,
}

/// More than two pages of files.
const MANY_FILES: usize = 4_100;

const ATTACK: &str = "\"><script>alert(1)</script>\u{202e}";

impl PageProvider for OneSkill {
    type Reader = ();

    async fn sign_in(&self, secret: &str) -> Option<()> {
        (secret == "s3cret").then_some(())
    }

    async fn site(&self, (): &()) -> Site {
        Site {
            name: ATTACK.to_owned(),
            place: ATTACK.to_owned(),
            sections: Section::ALL.to_vec(),
            live: LiveState::default(),
            reader: None,
        }
    }

    async fn catalogue(&self, (): &(), _: &CatalogueQuery) -> Filled<CatalogueView> {
        let row = CatalogueRow {
            key: SkillKey::new(ATTACK),
            name: ATTACK.to_owned(),
            description: ATTACK.to_owned(),
            origin: ATTACK.to_owned(),
            state: SkillState::new("new", Tone::Waiting),
            scan: ScanResult::NotScanned,
            signer: Some(ATTACK.to_owned()),
            marks: Vec::new(),
        };
        Ok(CatalogueView { rows: vec![row], total: 1, all: 1, ..CatalogueView::default() })
    }

    async fn skill(&self, (): &(), key: &SkillKey) -> Filled<SkillView> {
        if key.as_str() != ATTACK {
            return Err(PageProblem::NotFound);
        }
        let state = SkillState::new("new", Tone::Waiting);
        let mut view = SkillView::new(key.clone(), ATTACK, state);
        let file = |number| FileRow {
            path: format!("data/{number:05}.txt"),
            size: Some(1),
            media_type: "text/plain".to_owned(),
            is_read: true,
        };
        view.files = Some((0..MANY_FILES).map(file).collect());
        view.text = SkillText::Read(format!("# {ATTACK}\n\n[x](javascript:alert(1))\n"));
        Ok(view)
    }

    async fn file(&self, (): &(), _: &SkillKey, _: &str) -> Filled<FileView> {
        Err(PageProblem::NotFound)
    }

    async fn image(&self, (): &(), _: &SkillKey, _: &str) -> Filled<Image> {
        Err(PageProblem::NotFound)
    }

    async fn diff(
        &self,
        (): &(),
        key: &SkillKey,
        _: Option<&str>,
        path: Option<&str>,
    ) -> Filled<DiffView> {
        let file = FileChange {
            path: "a.md".to_owned(),
            kind: ChangeKind::Changed,
            before: Some(1),
            after: Some(2),
            lines: FileLines::NotRead,
        };
        let fits = path.is_none_or(|path| path == file.path);
        Ok(DiffView {
            key: key.clone(),
            name: ATTACK.to_owned(),
            before: String::new(),
            after: String::new(),
            fields: Vec::new(),
            files: [file].into_iter().filter(|_| fits).collect(),
            reach_added: Vec::new(),
            reach_removed: Vec::new(),
            findings: Vec::new(),
            unread: 0,
        })
    }

    async fn table(&self, (): &(), section: Section, query: &TableQuery) -> Filled<TableView> {
        if section == Section::Audit {
            // A log does not know how long it is.
            let empty = "Nothing happened yet.".to_owned();
            return Ok(TableView { empty, ..TableView::default() });
        }
        let pages = 3;
        let row = TableRow {
            cells: vec![Cell::Text(format!("on page {}", query.page))],
            acts: Vec::new(),
        };
        Ok(TableView {
            columns: vec!["Page"],
            rows: [row].into_iter().filter(|_| query.page < pages).collect(),
            total: Some(pages * TableQuery::PAGE),
            has_more: query.page + 1 < pages,
            ..TableView::default()
        })
    }

    async fn act(&self, (): &(), act: PageAct) -> Filled<ActOutcome> {
        self.acts.lock().unwrap().push(act);
        Ok(ActOutcome::Done("Done.".to_owned()))
    }
}

struct Fixture {
    page: Page<OneSkill>,
    provider: Arc<OneSkill>,
    cookie: String,
}

impl Fixture {
    async fn signed_in() -> Self {
        let provider = Arc::new(OneSkill::default());
        let options = PageOptions::new(PageHosts::loopback(80), "page");
        let page = Page::new(Arc::clone(&provider), options);
        let mut fixture = Self { page, provider, cookie: String::new() };
        let answer = fixture.get("/sign-in?secret=s3cret").await;
        let cookie = answer.headers()["set-cookie"].to_str().unwrap();
        cookie.split(';').next().unwrap().clone_into(&mut fixture.cookie);
        fixture
    }

    async fn get(&self, path: &str) -> PageResponse {
        let request = Request::get(path).header("host", "127.0.0.1:80");
        let request = request.header("cookie", &self.cookie);
        self.page.handle(request.body(Bytes::new()).unwrap()).await
    }

    async fn post(&self, path: &str, body: &str, origin: &str) -> PageResponse {
        let request = Request::post(path)
            .header("host", "127.0.0.1:80")
            .header("origin", origin)
            .header("content-type", "application/x-www-form-urlencoded")
            .header("cookie", &self.cookie);
        self.page.handle(request.body(Bytes::from(body.to_owned())).unwrap()).await
    }
}

fn text(answer: PageResponse) -> String {
    let PageBody::Full(bytes) = answer.into_body() else { panic!("a page is ready") };
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[tokio::test]
async fn without_a_session_nothing_is_shown_and_a_wrong_secret_signs_nobody_in() {
    let mut fixture = Fixture::signed_in().await;
    fixture.cookie = "page=forged".to_owned();
    for path in ["/", "/review", "/audit/export?format=csv", "/events"] {
        assert_eq!(fixture.get(path).await.status(), StatusCode::UNAUTHORIZED, "{path}");
    }
    let answer = fixture.get("/sign-in?secret=wrong").await;
    assert_eq!(answer.status(), StatusCode::FORBIDDEN);
    assert!(answer.headers().get("set-cookie").is_none());
}

#[tokio::test]
async fn every_answer_forbids_scripts_frames_and_keeping() {
    let fixture = Fixture::signed_in().await;
    for path in ["/", "/none", "/skill?id=none", "/sign-in"] {
        let answer = fixture.get(path).await;
        let policy = answer.headers()["content-security-policy"].to_str().unwrap();
        assert!(policy.starts_with("default-src 'none'; script-src 'self'"), "{path}: {policy}");
        assert!(policy.contains("frame-ancestors 'none'") && !policy.contains("unsafe"));
        assert_eq!(answer.headers()["cache-control"], "no-store");
        assert_eq!(answer.headers()["x-content-type-options"], "nosniff");
    }
}

#[tokio::test]
async fn text_of_a_skill_becomes_no_markup_anywhere() {
    let fixture = Fixture::signed_in().await;
    let key = "%22%3E%3Cscript%3Ealert(1)%3C%2Fscript%3E%E2%80%AE";
    for path in ["/".to_owned(), format!("/skill?id={key}"), format!("/skill?id={key}&view=raw")] {
        let answer = fixture.get(&path).await;
        assert_eq!(answer.status(), StatusCode::OK, "{path}");
        let page = text(answer);
        assert!(!page.contains("<script>") && !page.contains("javascript:alert(1)\""), "{page}");
        assert!(!page.contains('\u{202e}') || path == "/none", "{page}");
    }
}

#[tokio::test]
async fn only_a_form_of_the_session_acts() {
    let fixture = Fixture::signed_in().await;
    let own = "http://127.0.0.1:80";
    let page = text(fixture.get("/").await);
    let token = page.split("name=\"form\" value=\"").nth(1).unwrap().split('"').next().unwrap();
    let form = format!("form={token}&id=x&back=%2Fapprovals");
    for (body, origin) in
        [("id=x", own), ("form=0&id=x", own), (form.as_str(), "http://127.0.0.1:81")]
    {
        let answer = fixture.post("/act/revoke", body, origin).await;
        assert_eq!(answer.status(), StatusCode::FORBIDDEN, "{body} {origin}");
    }
    assert!(fixture.provider.acts.lock().unwrap().is_empty());
    let answer = fixture.post("/act/revoke", &form, own).await;
    assert_eq!(answer.status(), StatusCode::SEE_OTHER);
    assert_eq!(answer.headers()["location"], "/approvals");
    let acts = fixture.provider.acts.lock().unwrap().clone();
    assert_eq!(acts, [PageAct::Revoke(SkillKey::new("x"))]);
    let page = text(fixture.get("/").await);
    assert!(page.contains("Done."), "the next page says what was done");
    assert!(!text(fixture.get("/").await).contains("Done."), "and says it once");
}

#[tokio::test]
async fn a_page_beyond_the_end_of_a_list_is_its_last_page() {
    let fixture = Fixture::signed_in().await;
    let first = text(fixture.get("/").await);
    for page in ["1", "99999999", "18446744073709551615"] {
        for more in ["", "&q=x", "&part=results"] {
            let answer = fixture.get(&format!("/?page={page}{more}")).await;
            assert_eq!(answer.status(), StatusCode::OK, "{page}{more}");
            let shown = text(answer);
            assert!(shown.contains("1 skill") && !shown.contains("class=\"pager\""), "{shown}");
        }
    }
    assert_eq!(first.len(), text(fixture.get("/?page=7").await).len());
}

#[tokio::test]
async fn a_table_says_that_it_ends_before_a_page() {
    let fixture = Fixture::signed_in().await;
    let page = text(fixture.get("/audit?page=18446744073709551615&q=a").await);
    assert!(page.contains("The list ends before this page"), "{page}");
    assert!(page.contains("href=\"/audit?q=a\"") && !page.contains("Nothing happened"), "{page}");
    let page = text(fixture.get("/audit").await);
    assert!(page.contains("Nothing happened"), "{page}");
    // A list that says how long it is shows its last page.
    let page = text(fixture.get("/approvals?page=18446744073709551615").await);
    assert!(page.contains("on page 2") && page.contains("Page 3 of 3"), "{page}");
}

#[tokio::test]
async fn a_difference_at_a_path_without_one_is_not_found() {
    let fixture = Fixture::signed_in().await;
    assert_eq!(fixture.get("/diff?id=x").await.status(), StatusCode::OK);
    assert_eq!(fixture.get("/diff?id=x&path=a.md").await.status(), StatusCode::OK);
    assert_eq!(fixture.get("/diff?id=x&path=none").await.status(), StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn every_file_of_a_skill_is_on_a_page_of_its_files() {
    let fixture = Fixture::signed_in().await;
    let key = "%22%3E%3Cscript%3Ealert(1)%3C%2Fscript%3E%E2%80%AE";
    let mut found = 0;
    let mut last = String::new();
    for page in 0..3 {
        last = text(fixture.get(&format!("/skill?id={key}&view=files&page={page}")).await);
        found += last.matches("href=\"/file?").count();
    }
    assert_eq!(found, MANY_FILES);
    assert!(last.contains("Page 3 of 3"), "{last}");
    let beyond = text(fixture.get(&format!("/skill?id={key}&view=files&page=99")).await);
    assert_eq!(beyond, last);
}
