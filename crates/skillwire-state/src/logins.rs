//! Logins to servers: one file each, which only the user can read.

use std::{
    path::PathBuf,
    time::{Duration, UNIX_EPOCH},
};

use serde_json::{Map, Value, json};
use skillwire_client::{LockedLogin, Login, LoginStore, Secret, ServerUrl};
use skillwire_core::strict_json::{self, JsonLimits};
use skillwire_trust::{ServerLabel, StoreError};

use super::{
    encoding::encode,
    folder::{Folder, HeldLock, PathError},
};

/// The largest file that is read; tokens have a few thousand bytes.
const MAX_BYTES: u64 = 256 * 1024;

/// Logins in a folder.
#[derive(Debug, Clone)]
pub struct Logins {
    folder: PathBuf,
}

impl Logins {
    /// Creates a store in a folder; the folder is created on the first write.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }

    /// Returns the login to a server, if there is one.
    #[tracing::instrument(skip_all, fields(%label))]
    pub fn load(&self, label: &ServerLabel) -> Result<Option<Login>, StoreError> {
        let Some(folder) = Folder::find(&self.folder)? else { return Ok(None) };
        let name = file_name(label);
        let Some(bytes) = folder.read(&name, MAX_BYTES)? else { return Ok(None) };
        let login = String::from_utf8(bytes).ok().and_then(|text| read(&text));
        let unreadable = || {
            let problem = "cannot be read; a new login replaces it";
            StoreError::from(PathError::new(self.folder.join(&name), problem))
        };
        login.map(Some).ok_or_else(unreadable)
    }

    /// Saves a login in place of the previous one.
    #[tracing::instrument(skip_all, fields(%label))]
    pub fn save(&self, label: &ServerLabel, login: &Login) -> Result<(), StoreError> {
        self.locked(label)?.save(login)
    }

    /// Removes a login; returns whether there was one.
    #[tracing::instrument(skip_all, fields(%label))]
    pub fn remove(&self, label: &ServerLabel) -> Result<bool, StoreError> {
        let Some(folder) = Folder::find(&self.folder)? else { return Ok(false) };
        let name = file_name(label);
        let was_there = folder.facts(&name).is_some();
        folder.remove_file(&name)?;
        folder.remove_file(&format!("{name}.new"))?;
        Ok(was_there)
    }

    fn locked(&self, label: &ServerLabel) -> Result<LockedFile, StoreError> {
        let folder = Folder::make(&self.folder)?;
        let locked = folder.lock(&format!("{}.lock", file_name(label)))?;
        Ok(LockedFile { logins: self.clone(), label: label.clone(), _locked: locked })
    }
}

impl LoginStore for Logins {
    fn load(&self, label: &ServerLabel) -> Result<Option<Login>, StoreError> {
        Self::load(self, label)
    }

    fn lock(&self, label: &ServerLabel) -> Result<Box<dyn LockedLogin>, StoreError> {
        Ok(Box::new(self.locked(label)?))
    }
}

/// The file of a login, which no other process can change while this value lives.
struct LockedFile {
    logins: Logins,
    label: ServerLabel,
    _locked: HeldLock,
}

impl LockedLogin for LockedFile {
    fn load(&self) -> Result<Option<Login>, StoreError> {
        self.logins.load(&self.label)
    }

    fn save(&self, login: &Login) -> Result<(), StoreError> {
        let folder = Folder::make(&self.logins.folder)?;
        let name = file_name(&self.label);
        let new = format!("{name}.new");
        // A process that was killed may have left one. This process holds the lock, so no other
        // process still writes to it.
        folder.remove_file(&new)?;
        Ok(folder.replace(&name, &new, format!("{:#}\n", write(login)).as_bytes(), true)?)
    }
}

fn file_name(label: &ServerLabel) -> String {
    format!("{}.json", encode(label.as_str()).concat())
}

/// Reads a login by hand: an error of a derived reader would quote the value, which may be a
/// secret.
fn read(text: &str) -> Option<Login> {
    let fields = strict_json::object(text, JsonLimits::new(4, 10_000)).ok()?;
    let optional = |key: &str| match fields.get(key) {
        None => Some(None),
        Some(Value::String(text)) => Some(Some(text.clone())),
        Some(_) => None,
    };
    let needed = |key: &str| optional(key).flatten();
    let expires_at = match fields.get("expiresAt") {
        None => None,
        Some(seconds) => Some(UNIX_EPOCH.checked_add(Duration::from_secs(seconds.as_u64()?))?),
    };
    let scopes = fields.get("scopes")?.as_array()?.iter();
    Some(Login {
        server: ServerUrl::parse(&needed("server")?).ok()?,
        issuer: needed("issuer")?,
        client_id: needed("clientId")?,
        client_secret: optional("clientSecret")?.map(Secret::new),
        access_token: Secret::new(needed("accessToken")?),
        refresh_token: optional("refreshToken")?.map(Secret::new),
        expires_at,
        scopes: scopes.map(|scope| scope.as_str().map(str::to_owned)).collect::<Option<_>>()?,
    })
}

/// Writes a login with its secrets. The result must go into the login's file and nowhere else.
fn write(login: &Login) -> Value {
    let mut fields = Map::new();
    fields.insert("server".to_owned(), login.server.reveal().into());
    fields.insert("issuer".to_owned(), login.issuer.as_str().into());
    fields.insert("clientId".to_owned(), login.client_id.as_str().into());
    let secrets = [
        ("clientSecret", login.client_secret.as_ref()),
        ("accessToken", Some(&login.access_token)),
        ("refreshToken", login.refresh_token.as_ref()),
    ];
    for (key, secret) in secrets {
        fields.extend(secret.map(|secret| (key.to_owned(), secret.reveal().into())));
    }
    let seconds = login.expires_at.and_then(|at| at.duration_since(UNIX_EPOCH).ok());
    fields.extend(seconds.map(|at| ("expiresAt".to_owned(), at.as_secs().into())));
    fields.insert("scopes".to_owned(), json!(login.scopes));
    fields.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn login() -> Login {
        Login {
            server: ServerUrl::parse("https://skills.example.com/mcp?key=hush1").unwrap(),
            issuer: "https://id.example.com".to_owned(),
            client_id: "client".to_owned(),
            client_secret: Some(Secret::new("hush2")),
            access_token: Secret::new("hush3"),
            refresh_token: Some(Secret::new("hush4")),
            expires_at: Some(UNIX_EPOCH + Duration::from_secs(1_900_000_000)),
            scopes: vec!["skills".to_owned()],
        }
    }

    #[test]
    fn a_login_comes_back_as_it_was_and_shows_no_token() {
        let folder = tempfile::tempdir().unwrap();
        let logins = Logins::new(folder.path().join("logins"));
        let label = ServerLabel::parse("work.acme").unwrap();
        assert_eq!(logins.load(&label).unwrap(), None);
        assert!(!logins.remove(&label).unwrap());
        for login in [
            login(),
            Login { client_secret: None, refresh_token: None, expires_at: None, ..login() },
        ] {
            logins.save(&label, &login).unwrap();
            assert_eq!(logins.load(&label).unwrap().as_ref(), Some(&login));
            assert!(!format!("{login:?}").contains("hush"));
        }
        assert_eq!(logins.load(&ServerLabel::parse("work").unwrap()).unwrap(), None);
        assert!(logins.remove(&label).unwrap());
        assert_eq!(logins.load(&label).unwrap(), None);
    }

    #[cfg(unix)]
    #[test]
    fn a_login_is_readable_for_its_user_alone() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let logins = Logins::new(folder.path().join("logins"));
        let label = ServerLabel::parse("acme").unwrap();
        logins.save(&label, &login()).unwrap();
        let mode = |path: PathBuf| path.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(folder.path().join("logins")), 0o700);
        assert_eq!(mode(folder.path().join("logins/acme.json")), 0o600);
    }

    #[test]
    fn a_damaged_login_is_told_and_never_used_or_repeated() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("logins");
        let logins = Logins::new(&path);
        let label = ServerLabel::parse("acme").unwrap();
        logins.save(&label, &login()).unwrap();
        let whole = std::fs::read_to_string(path.join("acme.json")).unwrap();
        for damaged in [
            whole[..whole.len() / 2].to_owned(),
            whole.replace("\"hush3\"", "7"),
            whole.replace("\"hush4\"", "[]"),
            whole.replace("1900000000", "\"hush\""),
            whole.replace("https://skills", "ftp://skills"),
        ] {
            assert_ne!(damaged, whole);
            std::fs::write(path.join("acme.json"), damaged).unwrap();
            let error = logins.load(&label).unwrap_err();
            assert!(!format!("{error} {error:?}").contains("hush"), "{error}");
        }
    }
}
