//! What a view shows, as plain data. Providers fill these values; the renderer turns them
//! into HTML. Nothing in here knows where a skill comes from or how it is drawn.

mod catalogue;
mod connect;
mod diff;
mod evidence;
mod review;
mod site;
mod skill;
mod table;

pub use self::{
    catalogue::{CatalogueQuery, CatalogueRow, CatalogueView, FilterChoice, FilterGroup, Notice},
    connect::{ConnectView, ConnectionEntry},
    diff::{ChangeKind, DiffView, FieldChange, FileChange, FileLines, Hunk, HunkLine},
    evidence::{
        EvidenceLine, EvidenceView, FindingRow, ReachRow, ScanResult, Severity, UnseenFile,
    },
    review::{
        ActOutcome, AnswerKind, BatchAnswers, BatchItem, BatchView, Decision, PageAct, QueueItem,
        QueueView, RecordedDecision, ReviewView,
    },
    site::{Section, Site, SkillKey, SkillState, Tone},
    skill::{
        FactRow, FileContent, FileRow, FileView, Image, InstallLine, SkillAct, SkillText,
        SkillView, VersionRow,
    },
    table::{Cell, RowAct, TableQuery, TableRow, TableView},
};
