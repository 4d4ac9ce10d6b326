//! The page of a small provider, asked without a browser.
#![expect(clippy::unwrap_used, reason = "a helper that fails is a test that fails")]

use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::{Request, StatusCode};
use skillwire_page::{
    Filled, LiveState, Page, PageBody, PageHosts, PageOptions, PageProblem, PageProvider,
    PageResponse,
    model::{
        ActOutcome, CatalogueQuery, CatalogueRow, CatalogueView, FileView, Image, PageAct,
        ScanResult, Section, Site, SkillKey, SkillState, SkillText, SkillView, Tone,
    },
};

/// Has one skill, whose every text is an attack, and notes what it is asked to do.
#[derive(Default)]
struct OneSkill {
    acts: Mutex<Vec<PageAct>>,
}

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
        view.text = SkillText::Read(format!("# {ATTACK}\n\n[x](javascript:alert(1))\n"));
        Ok(view)
    }

    async fn file(&self, (): &(), _: &SkillKey, _: &str) -> Filled<FileView> {
        Err(PageProblem::NotFound)
    }

    async fn image(&self, (): &(), _: &SkillKey, _: &str) -> Filled<Image> {
        Err(PageProblem::NotFound)
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
