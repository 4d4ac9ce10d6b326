//! `skillwire ui`: the page of this user's host, on this machine alone.

use std::{
    io::Write as _,
    net::{Ipv4Addr, SocketAddr},
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use serde_json::json;
use skillwire_page::{Page, PageHosts, PageOptions};
use skillwire_server::http::{self, ConnectionLimits, Workers};
use tokio::net::TcpListener;

use super::{Outcome, serve::signals};
use crate::{
    args::UiArgs,
    exit::Exit,
    failure::Failure,
    logging,
    output::{NOTE, STRONG},
    page::{host::HostPage, served::PageServer},
    prose, report,
    session::{Session, SessionOptions, SkillFolders},
    settings::find_program,
};

/// The file that leads a browser to the page. Its name says what it is, in case it is left behind.
const SIGN_IN_FILE: &str = "open-page.html";

/// How long the page waits for running requests when it ends.
const STOP_TIME: Duration = Duration::from_millis(500);

pub(super) fn run(args: &UiArgs) -> Outcome {
    logging::for_people();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(no_threads)?;
    let outcome = runtime.block_on(serve(args));
    runtime.shutdown_background();
    outcome
}

fn no_threads(error: std::io::Error) -> Failure {
    Failure::new(Exit::Internal, "Threads could not be started.").because(error)
}

async fn serve(args: &UiArgs) -> Outcome {
    let (mut stop, _reload) = signals::listen()?;
    let options =
        SessionOptions { offline: args.offline, ..SessionOptions::everywhere(args.origins) };
    let session = Session::open(&options)?;
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, args.port));
    let cannot = |error: std::io::Error| {
        Failure::usage(format!("{address} cannot be listened on."))
            .because(error)
            .hint("Choose another port with `--port`, or leave it out for a free one.")
    };
    let listener = TcpListener::bind(address).await.map_err(cannot)?;
    let port = listener.local_addr().map_err(cannot)?.port();
    let provider = Arc::new(HostPage::new(&session, args.offline)?);
    let options = PageOptions::new(PageHosts::loopback(port), format!("skillwire-{port}"))
        .sign_in_help("Open the address that `skillwire ui` printed in your terminal.");
    let page = Page::new(Arc::clone(&provider), options);
    let workers = Workers::start(2).map_err(no_threads)?;
    let limits = ConnectionLimits::default().stop_time(STOP_TIME);
    let sign_in_file = SignInFile(session.settings().state().join(SIGN_IN_FILE));
    let mut url = sign_in_url(&provider, port)?;
    announce(args, &url, &sign_in_file)?;
    let following = {
        let provider = Arc::clone(&provider);
        let folders = SkillFolders::new(session.settings(), args.origins);
        tokio::spawn(async move {
            #[cfg(feature = "scan")]
            let scanning = Arc::clone(&provider).scan_in_background();
            #[cfg(not(feature = "scan"))]
            let scanning = std::future::ready(());
            tokio::join!(
                scanning,
                provider.follow_servers(),
                provider.follow_folders(folders),
                provider.follow_log(),
            )
        })
    };
    let (end, ended) = tokio::sync::oneshot::channel::<()>();
    let server = tokio::spawn(http::run(listener, PageServer::new(page), workers, limits, async {
        // An error means that the sender was dropped, which also ends the server.
        let _ = ended.await;
    }));
    loop {
        tokio::select! {
            () = stop.requested() => break,
            () = provider.secret_used() => {
                sign_in_file.remove();
                url = sign_in_url(&provider, port)?;
                if !args.json {
                    writeln!(
                        prose::stderr(),
                        "{NOTE}note{NOTE:#}: A browser signed in. Another one signs in at {url}"
                    )?;
                }
            }
        }
    }
    following.abort();
    let _ = end.send(());
    let _ = server.await;
    session.host().disconnect().await;
    Ok(Exit::Ok)
}

fn sign_in_url(provider: &HostPage, port: u16) -> Result<String, Failure> {
    let secret = provider.new_secret().map_err(|error| {
        Failure::new(Exit::Internal, "The system gives no random numbers.").because(error)
    })?;
    Ok(format!("http://127.0.0.1:{port}/sign-in?secret={secret}"))
}

fn announce(args: &UiArgs, url: &str, sign_in_file: &SignInFile) -> Result<(), Failure> {
    if args.json {
        report::json(&mut std::io::stdout().lock(), &json!({ "url": url }))?;
        return Ok(());
    }
    let mut out = prose::stdout();
    writeln!(out, "{STRONG}{url}{STRONG:#}")?;
    out.flush()?;
    let opened = !args.no_open && sign_in_file.open(url);
    let mut err = prose::stderr();
    if opened {
        writeln!(err, "The page opens in your browser. Ctrl-C ends it.")?;
    } else {
        writeln!(err, "Open this address in a browser; it signs in once. Ctrl-C ends the page.")?;
    }
    Ok(())
}

/// A private file that leads a browser to the page.
///
/// The address holds a secret, and every user of a machine can see the arguments of its programs. So
/// the browser is told to open this file, which only its owner can read.
struct SignInFile(PathBuf);

impl SignInFile {
    /// Writes the file and has the system open it. Tells whether a browser was found.
    fn open(&self, url: &str) -> bool {
        let Some((program, arguments)) = opener() else { return false };
        if write_private(&self.0, &leading_to(url)).is_err() {
            return false;
        }
        let mut command = std::process::Command::new(program);
        command.args(arguments).arg(&self.0);
        let nothing = std::process::Stdio::null;
        command.stdin(nothing()).stdout(nothing()).stderr(nothing());
        command.spawn().is_ok()
    }

    fn remove(&self) {
        // A file that is left behind leads to a secret that was used.
        let _ = std::fs::remove_file(&self.0);
    }
}

impl Drop for SignInFile {
    fn drop(&mut self) {
        self.remove();
    }
}

/// The program that opens a file in the user's browser, if this machine shows anything at all.
fn opener() -> Option<(PathBuf, &'static [&'static str])> {
    if cfg!(target_os = "macos") {
        return find_program("open").map(|program| (program, &[][..]));
    }
    if cfg!(windows) {
        return find_program("explorer.exe").map(|program| (program, &[][..]));
    }
    let has_display = ["DISPLAY", "WAYLAND_DISPLAY"];
    let has_display = has_display.iter().any(|name| crate::settings::variable(name).is_some());
    find_program("xdg-open").filter(|_| has_display).map(|program| (program, &[][..]))
}

fn leading_to(url: &str) -> String {
    format!(
        "<!doctype html><meta charset=\"utf-8\"><title>Skillwire</title>\
         <meta http-equiv=\"refresh\" content=\"0; url={url}\"><a href=\"{url}\">Open the page</a>\n"
    )
}

fn write_private(path: &Path, text: &str) -> std::io::Result<()> {
    let _ = std::fs::remove_file(path);
    if let Some(folder) = path.parent() {
        super::private_file::folder(folder)?;
    }
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)?.write_all(text.as_bytes())
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn only_the_user_can_read_the_file_that_holds_the_secret() {
        let folder = skillwire_testkit::SkillFolder::new();
        let path = folder.path().join("state").join(SIGN_IN_FILE);
        write_private(&path, "old").unwrap();
        write_private(&path, &leading_to("http://127.0.0.1:1/")).unwrap();
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        SignInFile(path.clone()).remove();
        assert!(!path.exists());
    }
}
