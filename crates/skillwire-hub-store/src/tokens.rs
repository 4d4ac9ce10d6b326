//! Tokens: made, found by their hash, listed and revoked.

use std::collections::BTreeSet;

use skillwire_core::Digest;
use skillwire_hub::{
    Action, AuditAction, Caller, Cursor, HubChange, NamespaceName, NewAuditEntry, Page,
    PageRequest, Refusal, Scope, Subject, Timestamp, TokenHash, TokenRecord, TokenSecret,
};

use crate::{
    error::StoreError,
    records::{optional_time_of, subject_of, time_of},
    sql::{Row, args},
    store::{HubStore, WriteTx, from_json, number, random_bytes, to_json},
};

/// The longest name of a token, in bytes.
const MAX_NAME_BYTES: usize = 100;

/// A token that a caller makes.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct NewToken {
    /// What its owner calls it.
    pub name: String,
    /// Who acts when it is used.
    pub subject: Subject,
    /// Whether it administers the hub.
    pub administrator: bool,
    /// What it may be used for.
    pub scopes: BTreeSet<Scope>,
    /// The namespaces it is limited to; none is every namespace.
    pub namespaces: Option<BTreeSet<NamespaceName>>,
    /// When it ends.
    pub expires_at: Option<Timestamp>,
}

impl NewToken {
    /// A token that reads, without an end.
    pub fn new(name: impl Into<String>, subject: Subject) -> Self {
        Self {
            name: name.into(),
            subject,
            administrator: false,
            scopes: BTreeSet::from([Scope::Read]),
            namespaces: None,
            expires_at: None,
        }
    }

    /// Makes it a token of an administrator, with every scope.
    #[must_use]
    pub fn with_administrator(mut self) -> Self {
        self.administrator = true;
        self.with_scopes(Scope::ALL)
    }

    /// Sets what it may be used for.
    #[must_use]
    pub fn with_scopes(mut self, scopes: impl IntoIterator<Item = Scope>) -> Self {
        self.scopes = scopes.into_iter().collect();
        self
    }

    /// Limits it to some namespaces.
    #[must_use]
    pub fn with_namespaces(mut self, namespaces: Option<BTreeSet<NamespaceName>>) -> Self {
        self.namespaces = namespaces;
        self
    }

    /// Sets when it ends.
    #[must_use]
    pub fn with_end(mut self, expires_at: Option<Timestamp>) -> Self {
        self.expires_at = expires_at;
        self
    }
}

/// The columns that [`token_of`] reads.
macro_rules! token_columns {
    () => {
        "id, name, subject, administrator, scopes, namespaces, created_at, created_by, expires_at, \
         revoked_at"
    };
}

impl HubStore {
    /// Makes a token. Callers make tokens for themselves that allow no more than their own credential;
    /// administrators make any.
    #[tracing::instrument(skip_all, fields(name = %new.name))]
    pub async fn create_token(
        &self,
        caller: &Caller,
        new: NewToken,
    ) -> Result<(TokenRecord, TokenSecret), StoreError> {
        if caller.require_administrator(Action::ManageTokens).is_err() {
            let within = |own: &BTreeSet<NamespaceName>| {
                new.namespaces.as_ref().is_some_and(|namespaces| namespaces.is_subset(own))
            };
            let own = new.subject == caller.subject
                && !new.administrator
                && new.scopes.is_subset(&caller.scopes)
                && caller.namespaces.as_ref().is_none_or(within);
            if !own {
                let action = Action::ManageTokens;
                return Err(Refusal::NotAllowed { action, namespace: None }.into());
            }
        }
        if new.subject == Subject::everyone() {
            return Err(Refusal::EveryoneOnlyReads.into());
        }
        let mut tx = self.begin_write(&caller.subject).await?;
        let result = insert_token(&mut tx, new, caller.subject.clone()).await;
        tx.finish(result).await
    }

    /// Makes the first token of a new hub, an administrator's. Refused once there is any token.
    pub async fn create_first_token(
        &self,
        name: &str,
        subject: Subject,
    ) -> Result<(TokenRecord, TokenSecret), StoreError> {
        let mut tx = self.begin_write(&subject).await?;
        let result = async {
            if tx.tx().row("SELECT id FROM tokens LIMIT 1", args![]).await?.is_some() {
                let action = Action::ManageTokens;
                return Err(Refusal::NotAllowed { action, namespace: None }.into());
            }
            let new = NewToken::new(name, subject.clone()).with_administrator();
            insert_token(&mut tx, new, subject).await
        }
        .await;
        tx.finish(result).await
    }

    /// Returns the token of a secret; none if it is unknown, has ended or was revoked.
    pub async fn authenticate(
        &self,
        secret: &TokenSecret,
    ) -> Result<Option<TokenRecord>, StoreError> {
        self.token_with(&secret.hash()).await
    }

    /// Returns the token whose secret has a hash; none if it is unknown, has ended or was revoked.
    pub async fn token_with(&self, hash: &TokenHash) -> Result<Option<TokenRecord>, StoreError> {
        let select = concat!("SELECT ", token_columns!(), " FROM tokens WHERE hash = $1");
        let row = self.database().row(select, args![hash.hex()]).await?;
        let token = row.map(|row| token_of(&row)).transpose()?;
        Ok(token.filter(|token| token.is_valid(self.now())))
    }

    /// Returns every token that was not revoked with its hash, for a replica that admits callers.
    pub async fn all_tokens(&self) -> Result<Vec<(TokenRecord, TokenHash)>, StoreError> {
        let select = concat!(
            "SELECT ",
            token_columns!(),
            ", hash FROM tokens WHERE revoked_at IS NULL ORDER BY id"
        );
        let rows = self.database().rows(select, args![]).await?;
        let read = |row: &Row| {
            let hash = format!("sha256:{}", row.text(10)?).parse::<Digest>();
            let hash = hash.map_err(|_| StoreError::corrupt("the hash of a token"))?;
            Ok((token_of(row)?, TokenHash::from_digest(hash)))
        };
        rows.iter().map(read).collect()
    }

    /// Lists tokens by number: all of them to administrators, their own to others.
    pub async fn tokens(
        &self,
        caller: &Caller,
        page: &PageRequest,
    ) -> Result<Page<TokenRecord>, StoreError> {
        let after = match &page.after {
            Some(cursor) => number(cursor.number("tokens")?),
            None => 0,
        };
        let limit = i64::from(page.limit()) + 1;
        let rows = if caller.require_administrator(Action::ManageTokens).is_ok() {
            let select = concat!(
                "SELECT ",
                token_columns!(),
                " FROM tokens WHERE id > $1 ORDER BY id LIMIT $2"
            );
            self.database().rows(select, args![after, limit]).await?
        } else {
            let select = concat!(
                "SELECT ",
                token_columns!(),
                " FROM tokens WHERE id > $1 AND subject = $3 ORDER BY id LIMIT $2"
            );
            self.database().rows(select, args![after, limit, caller.subject.as_str()]).await?
        };
        let items = rows.iter().map(token_of).collect::<Result<_, _>>()?;
        Ok(Page::cut(items, page.limit(), |last: &TokenRecord| {
            Cursor::new("tokens", &[&last.id.to_string()])
        }))
    }

    /// Revokes a token: any as an administrator, otherwise one's own. Again, it changes nothing.
    #[tracing::instrument(skip_all, fields(id))]
    pub async fn revoke_token(&self, caller: &Caller, id: u64) -> Result<TokenRecord, StoreError> {
        let mut tx = self.begin_write(&caller.subject).await?;
        let result = async {
            let select = concat!("SELECT ", token_columns!(), " FROM tokens WHERE id = $1");
            let unknown = || Refusal::UnknownRecord { what: "token", id: id.to_string() };
            let row = tx.tx().row(select, args![number(id)]).await?.ok_or_else(unknown)?;
            let mut token = token_of(&row)?;
            let administrator = caller.require_administrator(Action::ManageTokens).is_ok();
            if !administrator && token.subject != caller.subject {
                return Err(unknown().into());
            }
            if token.revoked_at.is_none() {
                token.revoked_at = Some(tx.now);
                let update = "UPDATE tokens SET revoked_at = $2 WHERE id = $1";
                tx.execute(update, args![number(id), tx.now.as_millis()]).await?;
                record(&mut tx, AuditAction::RevokeToken, &token).await?;
            }
            Ok(token)
        }
        .await;
        tx.finish(result).await
    }
}

async fn insert_token(
    tx: &mut WriteTx,
    new: NewToken,
    created_by: Subject,
) -> Result<(TokenRecord, TokenSecret), StoreError> {
    if new.name.is_empty() || new.name.len() > MAX_NAME_BYTES || new.name.contains(char::is_control)
    {
        return Err(Refusal::BadText { what: "token's name", limit: MAX_NAME_BYTES }.into());
    }
    if let Some(at) = new.expires_at.filter(|end| *end <= tx.now) {
        return Err(Refusal::InThePast { what: "token", at }.into());
    }
    let secret = TokenSecret::from_random(random_bytes()?);
    let key = tx.next_key();
    let mut token = TokenRecord::new(new.name, new.subject, tx.now, created_by);
    token.id = key.unsigned_abs();
    token.administrator = new.administrator;
    token.scopes = new.scopes;
    token.namespaces = new.namespaces;
    token.expires_at = new.expires_at;
    let insert = "INSERT INTO tokens (id, name, subject, hash, administrator, scopes, namespaces,
        created_at, created_by, expires_at, revoked_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, NULL)";
    let values = args![
        key,
        token.name.as_str(),
        token.subject.as_str(),
        secret.hash().hex(),
        token.administrator,
        to_json(&token.scopes)?,
        token.namespaces.as_ref().map(to_json).transpose()?,
        token.created_at.as_millis(),
        token.created_by.as_str(),
        token.expires_at.map(Timestamp::as_millis),
    ];
    tx.execute(insert, values).await?;
    record(tx, AuditAction::CreateToken, &token).await?;
    Ok((token, secret))
}

async fn record(
    tx: &mut WriteTx,
    action: AuditAction,
    token: &TokenRecord,
) -> Result<(), StoreError> {
    let target = format!("token {}", token.id);
    let details = to_json(token)?;
    tx.audit(NewAuditEntry { action, target, content: None, details }).await?;
    tx.announce(HubChange::TokenChanged { token: token.id }).await
}

fn token_of(row: &Row) -> Result<TokenRecord, StoreError> {
    let mut token =
        TokenRecord::new(row.text(1)?, subject_of(row, 2)?, time_of(row, 6)?, subject_of(row, 7)?);
    token.id = row.count(0)?;
    token.administrator = row.flag(3)?;
    token.scopes = from_json(&row.text(4)?, "scopes")?;
    let namespaces = row.optional_text(5)?;
    token.namespaces = namespaces.map(|text| from_json(&text, "namespaces")).transpose()?;
    token.expires_at = optional_time_of(row, 8)?;
    token.revoked_at = optional_time_of(row, 9)?;
    Ok(token)
}
