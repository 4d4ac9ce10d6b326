//! Namespaces, roles, guarded names and trusted publishers.

use skillwire_hub::{
    Action, AuditAction, Caller, Cursor, HubChange, Namespace, NamespaceName, NewAuditEntry, Page,
    PageRequest, Quotas, Refusal, ReviewPolicy, Role, SkillId, Subject, TrustedPublisher,
};

use crate::{
    changes::insert_guards,
    error::StoreError,
    records::{load_namespace, load_skill, namespace_of, review_text, skill_id_of},
    sql::{Row, Tx, args},
    store::{HubStore, WriteTx, from_json, number, to_json},
};

/// A namespace that an administrator makes.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct NewNamespace {
    /// Its name.
    pub name: NamespaceName,
    /// Its first owner.
    pub owner: Subject,
    /// Whether names like those of its skills wait for an administrator elsewhere.
    pub protected: bool,
    /// Whether versions wait for a reviewer.
    pub review: ReviewPolicy,
    /// The most it may hold.
    pub quotas: Quotas,
}

impl NewNamespace {
    /// A namespace without a review, with the default quotas.
    pub fn new(name: NamespaceName, owner: Subject) -> Self {
        let quotas = Quotas::default();
        Self { name, owner, protected: false, review: ReviewPolicy::None, quotas }
    }

    /// Protects its skills' names.
    #[must_use]
    pub fn with_protected(mut self, protected: bool) -> Self {
        self.protected = protected;
        self
    }

    /// Sets whether versions wait for a reviewer.
    #[must_use]
    pub fn with_review(mut self, review: ReviewPolicy) -> Self {
        self.review = review;
        self
    }

    /// Sets the most it may hold.
    #[must_use]
    pub fn with_quotas(mut self, quotas: Quotas) -> Self {
        self.quotas = quotas;
        self
    }
}

/// What of a namespace changes; what is not set stays.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NamespaceChange {
    /// Whether names like those of its skills wait elsewhere; only administrators may change it.
    pub protected: Option<bool>,
    /// Whether versions wait for a reviewer.
    pub review: Option<ReviewPolicy>,
    /// The most it may hold; only administrators may change it.
    pub quotas: Option<Quotas>,
}

impl HubStore {
    /// Makes a namespace.
    #[tracing::instrument(skip_all, fields(namespace = %new.name))]
    pub async fn create_namespace(
        &self,
        caller: &Caller,
        new: NewNamespace,
    ) -> Result<Namespace, StoreError> {
        caller.require_administrator(Action::ManageHub)?;
        if new.owner == Subject::everyone() {
            return Err(Refusal::EveryoneOnlyReads.into());
        }
        let mut tx = self.begin_write(&caller.subject).await?;
        let result = async {
            if load_namespace(tx.tx(), &new.name).await?.is_some() {
                return Err(Refusal::NamespaceTaken(new.name.clone()).into());
            }
            let NewNamespace { name, protected, review, quotas, .. } = &new;
            insert_namespace(&mut tx, name, *protected, *review, quotas).await?;
            insert_grant(&mut tx, &new.name, &new.owner, Role::Owner).await?;
            let details = serde_json::json!({"owner": new.owner, "protected": new.protected,
                "review": new.review, "quotas": new.quotas});
            record(&mut tx, AuditAction::ChangeNamespace, &new.name, details.to_string()).await?;
            reload(tx.tx(), &new.name).await
        }
        .await;
        tx.finish(result).await
    }

    /// Changes what a namespace requires.
    #[tracing::instrument(skip_all, fields(namespace = %name))]
    pub async fn change_namespace(
        &self,
        caller: &Caller,
        name: &NamespaceName,
        change: NamespaceChange,
    ) -> Result<Namespace, StoreError> {
        if change.protected.is_some() || change.quotas.is_some() {
            caller.require_administrator(Action::ManageHub)?;
        }
        let mut tx = self.begin_write(&caller.subject).await?;
        let result = async {
            let namespace = load_required(tx.tx(), caller, name, Action::ManageNamespace).await?;
            let update = "UPDATE namespaces SET protected = $2, review = $3, quotas = $4
                WHERE name = $1";
            let protected = change.protected.unwrap_or(namespace.protected);
            let review = change.review.unwrap_or(namespace.review);
            let quotas = change.quotas.unwrap_or(namespace.quotas);
            let values = args![name.as_str(), protected, review_text(review), to_json(&quotas)?];
            tx.execute(update, values).await?;
            if protected != namespace.protected {
                guard_names(&mut tx, name, protected).await?;
            }
            let details = serde_json::json!({"protected": protected, "review": review,
                "quotas": quotas});
            record(&mut tx, AuditAction::ChangeNamespace, name, details.to_string()).await?;
            reload(tx.tx(), name).await
        }
        .await;
        tx.finish(result).await
    }

    /// Returns a namespace that the caller may read.
    pub async fn namespace(
        &self,
        caller: &Caller,
        name: &NamespaceName,
    ) -> Result<Namespace, StoreError> {
        let mut tx = self.begin_read().await?;
        let namespace = load_required(&mut tx, caller, name, Action::Read).await;
        tx.commit().await?;
        namespace
    }

    /// Lists the namespaces that the caller may read, by name.
    pub async fn namespaces(
        &self,
        caller: &Caller,
        page: &PageRequest,
    ) -> Result<Page<Namespace>, StoreError> {
        let after = match &page.after {
            Some(cursor) => cursor.key("namespaces", 1)?.remove(0),
            None => String::new(),
        };
        let all = self.all_namespaces().await?;
        let limit = page.limit() as usize;
        let mine = all
            .into_iter()
            .filter(|namespace| namespace.name.as_str() > after.as_str())
            .filter(|namespace| caller.may(Action::Read, namespace))
            .take(limit + 1)
            .collect();
        Ok(Page::cut(mine, page.limit(), |last: &Namespace| {
            Cursor::new("namespaces", &[last.name.as_str()])
        }))
    }

    /// Returns every namespace with its grants, by name; for building views of what callers may read.
    pub async fn all_namespaces(&self) -> Result<Vec<Namespace>, StoreError> {
        let mut tx = self.begin_read().await?;
        let select = "SELECT name, protected, review, quotas, skills, versions, bytes
            FROM namespaces ORDER BY name";
        let rows = tx.rows(select, args![]).await?;
        let mut all = rows.iter().map(namespace_of).collect::<Result<Vec<_>, _>>()?;
        let grants = "SELECT namespace, subject, role FROM grants";
        for row in tx.rows(grants, args![]).await? {
            let name: NamespaceName = row.parsed(0, "namespace")?;
            if let Ok(index) = all.binary_search_by(|namespace| namespace.name.cmp(&name)) {
                all[index].grant(row.parsed(1, "subject")?, row.parsed(2, "role")?);
            }
        }
        tx.commit().await?;
        Ok(all)
    }

    /// Gives a subject a role.
    #[tracing::instrument(skip_all, fields(%namespace, %role))]
    pub async fn grant(
        &self,
        caller: &Caller,
        namespace: &NamespaceName,
        subject: &Subject,
        role: Role,
    ) -> Result<Namespace, StoreError> {
        self.change_grant(caller, namespace, subject, role, true).await
    }

    /// Takes a role away from a subject. The last owner stays.
    #[tracing::instrument(skip_all, fields(%namespace, %role))]
    pub async fn withdraw_grant(
        &self,
        caller: &Caller,
        namespace: &NamespaceName,
        subject: &Subject,
        role: Role,
    ) -> Result<Namespace, StoreError> {
        self.change_grant(caller, namespace, subject, role, false).await
    }

    async fn change_grant(
        &self,
        caller: &Caller,
        name: &NamespaceName,
        subject: &Subject,
        role: Role,
        granted: bool,
    ) -> Result<Namespace, StoreError> {
        if granted && *subject == Subject::everyone() && role != Role::Reader {
            return Err(Refusal::EveryoneOnlyReads.into());
        }
        let mut tx = self.begin_write(&caller.subject).await?;
        let result = async {
            let before = load_required(tx.tx(), caller, name, Action::ManageNamespace).await?;
            let has = before.grants.get(subject).is_some_and(|roles| roles.contains(&role));
            if has == granted {
                return Ok(before);
            }
            if granted {
                insert_grant(&mut tx, name, subject, role).await?;
            } else {
                let delete = "DELETE FROM grants WHERE namespace = $1 AND subject = $2
                    AND role = $3";
                tx.execute(delete, args![name.as_str(), subject.as_str(), role.as_str()]).await?;
            }
            let after = reload(tx.tx(), name).await?;
            if !after.grants.values().any(|roles| roles.contains(&Role::Owner)) {
                return Err(Refusal::LastOwner(name.clone()).into());
            }
            let details = serde_json::json!({"subject": subject, "role": role, "granted": granted});
            record(&mut tx, AuditAction::Grant, name, details.to_string()).await?;
            Ok(after)
        }
        .await;
        tx.finish(result).await
    }

    /// Guards the name of a skill that many use, or stops to.
    pub async fn set_popular(
        &self,
        caller: &Caller,
        skill: &SkillId,
        popular: bool,
    ) -> Result<(), StoreError> {
        caller.require_administrator(Action::ManageHub)?;
        let mut tx = self.begin_write(&caller.subject).await?;
        let result = async {
            let namespace = reload(tx.tx(), &skill.namespace).await?;
            let loaded = load_skill(tx.tx(), skill).await?;
            let key = loaded.ok_or_else(|| Refusal::UnknownSkill(skill.clone()))?.key;
            let update = "UPDATE skills SET popular = $2 WHERE key = $1";
            tx.execute(update, args![key, popular]).await?;
            if popular {
                insert_guards(&mut tx, key, &skill.name).await?;
            } else if !namespace.protected {
                tx.execute("DELETE FROM name_guards WHERE skill = $1", args![key]).await?;
            }
            let details = serde_json::json!({"skill": skill, "popular": popular}).to_string();
            record(&mut tx, AuditAction::ChangeNamespace, &skill.namespace, details).await
        }
        .await;
        tx.finish(result).await
    }

    /// Lets workflows with some claims publish into a namespace; returns it with its number.
    pub async fn trust_publisher(
        &self,
        caller: &Caller,
        publisher: TrustedPublisher,
    ) -> Result<TrustedPublisher, StoreError> {
        if publisher.subject == Subject::everyone() {
            return Err(Refusal::EveryoneOnlyReads.into());
        }
        let mut tx = self.begin_write(&caller.subject).await?;
        let result = async {
            let name = publisher.namespace.clone();
            load_required(tx.tx(), caller, &name, Action::ManageNamespace).await?;
            let too_long = publisher
                .claims
                .iter()
                .any(|(claim, pattern)| claim.len() > 100 || pattern.0.len() > 500);
            if publisher.issuer.len() > 500 || publisher.claims.len() > 16 || too_long {
                return Err(Refusal::BadText { what: "trusted publisher", limit: 500 }.into());
            }
            let key = tx.next_key();
            let insert = "INSERT INTO trusted_publishers (id, namespace, issuer, claims, subject)
                VALUES ($1, $2, $3, $4, $5)";
            let claims = to_json(&publisher.claims)?;
            let subject = publisher.subject.as_str();
            let values = args![key, name.as_str(), publisher.issuer.as_str(), claims, subject];
            tx.execute(insert, values).await?;
            let publisher = TrustedPublisher { id: key.unsigned_abs(), ..publisher };
            let details = to_json(&publisher)?;
            record(&mut tx, AuditAction::TrustPublisher, &name, details).await?;
            Ok(publisher)
        }
        .await;
        tx.finish(result).await
    }

    /// Stops to trust a publisher.
    pub async fn distrust_publisher(&self, caller: &Caller, id: u64) -> Result<(), StoreError> {
        let mut tx = self.begin_write(&caller.subject).await?;
        let result = async {
            let unknown =
                || Refusal::UnknownRecord { what: "trusted publisher", id: id.to_string() };
            let select = "SELECT id, namespace, issuer, claims, subject FROM trusted_publishers
                WHERE id = $1";
            let row = tx.tx().row(select, args![number(id)]).await?.ok_or_else(unknown)?;
            let publisher = trusted_of(&row)?;
            let name = publisher.namespace.clone();
            load_required(tx.tx(), caller, &name, Action::ManageNamespace).await?;
            let delete = "DELETE FROM trusted_publishers WHERE id = $1";
            tx.execute(delete, args![number(id)]).await?;
            let details = serde_json::json!({"removed": publisher}).to_string();
            record(&mut tx, AuditAction::TrustPublisher, &name, details).await
        }
        .await;
        tx.finish(result).await
    }

    /// Lists the trusted publishers of a namespace.
    pub async fn trusted_publishers(
        &self,
        caller: &Caller,
        namespace: &NamespaceName,
        page: &PageRequest,
    ) -> Result<Page<TrustedPublisher>, StoreError> {
        let mut tx = self.begin_read().await?;
        load_required(&mut tx, caller, namespace, Action::ManageNamespace).await?;
        let after = match &page.after {
            Some(cursor) => cursor.number("publishers")?,
            None => 0,
        };
        let select = "SELECT id, namespace, issuer, claims, subject FROM trusted_publishers
            WHERE namespace = $1 AND id > $2 ORDER BY id LIMIT $3";
        let limit = i64::from(page.limit()) + 1;
        let rows = tx.rows(select, args![namespace.as_str(), number(after), limit]).await?;
        tx.commit().await?;
        let items = rows.iter().map(trusted_of).collect::<Result<_, _>>()?;
        Ok(Page::cut(items, page.limit(), |last: &TrustedPublisher| {
            Cursor::new("publishers", &[&last.id.to_string()])
        }))
    }

    /// Returns the trusted publishers of an issuer, to authenticate a workflow.
    pub async fn trusted_publishers_of(
        &self,
        issuer: &str,
    ) -> Result<Vec<TrustedPublisher>, StoreError> {
        let select = "SELECT id, namespace, issuer, claims, subject FROM trusted_publishers
            WHERE issuer = $1 ORDER BY id";
        let rows = self.database().rows(select, args![issuer]).await?;
        rows.iter().map(trusted_of).collect()
    }
}

fn trusted_of(row: &Row) -> Result<TrustedPublisher, StoreError> {
    Ok(TrustedPublisher {
        id: row.count(0)?,
        namespace: row.parsed(1, "namespace")?,
        issuer: row.text(2)?,
        claims: from_json(&row.text(3)?, "claims")?,
        subject: row.parsed(4, "subject")?,
    })
}

/// Loads a namespace in which the caller may do something.
pub(crate) async fn load_required(
    tx: &mut Tx,
    caller: &Caller,
    name: &NamespaceName,
    action: Action,
) -> Result<Namespace, StoreError> {
    let namespace = reload(tx, name).await?;
    caller.require(action, &namespace)?;
    Ok(namespace)
}

async fn reload(tx: &mut Tx, name: &NamespaceName) -> Result<Namespace, StoreError> {
    let namespace = load_namespace(tx, name).await?;
    Ok(namespace.ok_or_else(|| Refusal::UnknownNamespace(name.clone()))?)
}

/// Writes the row of a namespace, made by the caller of the transaction.
pub(crate) async fn insert_namespace(
    tx: &mut WriteTx,
    name: &NamespaceName,
    protected: bool,
    review: ReviewPolicy,
    quotas: &Quotas,
) -> Result<(), StoreError> {
    let insert = "INSERT INTO namespaces (name, protected, review, quotas, skills, versions,
        bytes, created_at, created_by) VALUES ($1, $2, $3, $4, 0, 0, 0, $5, $6)";
    let values = args![
        name.as_str(),
        protected,
        review_text(review),
        to_json(quotas)?,
        tx.now.as_millis(),
        tx.actor(),
    ];
    tx.execute(insert, values).await?;
    Ok(())
}

pub(crate) async fn insert_grant(
    tx: &mut WriteTx,
    namespace: &NamespaceName,
    subject: &Subject,
    role: Role,
) -> Result<(), StoreError> {
    let insert = "INSERT INTO grants (namespace, subject, role) VALUES ($1, $2, $3)";
    tx.execute(insert, args![namespace.as_str(), subject.as_str(), role.as_str()]).await?;
    Ok(())
}

async fn record(
    tx: &mut WriteTx,
    action: AuditAction,
    namespace: &NamespaceName,
    details: String,
) -> Result<(), StoreError> {
    let target = namespace.to_string();
    tx.audit(NewAuditEntry { action, target, content: None, details }).await?;
    tx.announce(HubChange::NamespaceChanged { namespace: namespace.clone() }).await
}

/// Guards the names of a namespace's skills, or stops to for those that are not popular.
async fn guard_names(
    tx: &mut WriteTx,
    namespace: &NamespaceName,
    protected: bool,
) -> Result<(), StoreError> {
    if !protected {
        let delete = "DELETE FROM name_guards WHERE skill IN
            (SELECT key FROM skills WHERE namespace = $1 AND popular = 0)";
        tx.execute(delete, args![namespace.as_str()]).await?;
        return Ok(());
    }
    let select = "SELECT namespace, name, key FROM skills WHERE namespace = $1";
    for row in tx.tx().rows(select, args![namespace.as_str()]).await? {
        let id = skill_id_of(&row, 0)?;
        insert_guards(tx, row.int(2)?, &id.name).await?;
    }
    Ok(())
}
