//! A language server for SKILL.md: findings, fixes, completion, hover and navigation from the same checks.
