//! What one run asks for, and how that narrows what is granted.

use std::{collections::BTreeSet, fmt};

use super::{InputPath, MemoryLimit, NetworkGrant, RunGrants, TimeLimit, VariableName};

/// What one run asks for. A part that it does not mention is what is granted, inputs excepted: a
/// run gets no file that it does not name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct RunRequest {
    /// The destinations, if the run wants only these.
    pub network: Option<BTreeSet<NetworkGrant>>,
    /// The variables, if the run wants only these.
    pub env: Option<BTreeSet<VariableName>>,
    /// The files that a model wants to be copied in, with links resolved. A file that the user
    /// names needs no grant and is not among them.
    pub inputs: BTreeSet<InputPath>,
    /// The memory, if the run wants another than is granted.
    pub memory: Option<MemoryLimit>,
    /// The time, if the run wants another than is granted.
    pub time: Option<TimeLimit>,
}

impl RunRequest {
    /// Asks for these destinations and no others.
    #[must_use]
    pub fn network(mut self, network: impl IntoIterator<Item = NetworkGrant>) -> Self {
        self.network = Some(network.into_iter().collect());
        self
    }

    /// Asks for these variables and no others.
    #[must_use]
    pub fn env(mut self, env: impl IntoIterator<Item = VariableName>) -> Self {
        self.env = Some(env.into_iter().collect());
        self
    }

    /// Asks for these files of the user.
    #[must_use]
    pub fn inputs(mut self, inputs: impl IntoIterator<Item = InputPath>) -> Self {
        self.inputs = inputs.into_iter().collect();
        self
    }

    /// Asks for this much memory.
    #[must_use]
    pub fn memory(mut self, memory: Option<MemoryLimit>) -> Self {
        self.memory = memory;
        self
    }

    /// Asks for this much time.
    #[must_use]
    pub fn time(mut self, time: Option<TimeLimit>) -> Self {
        self.time = time;
        self
    }
}

/// The error for a run that asks for more than is granted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WiderThanGranted {
    /// What the run asks for and is not granted.
    pub missing: RunGrants,
    /// The grants that the run would need: what is granted, and what is missing.
    pub needed: RunGrants,
}

impl fmt::Display for WiderThanGranted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let items = self.missing.items();
        let items = items.iter().map(|(kind, item)| format!("{} `{item}`", kind.word()));
        f.write_str(&items.collect::<Vec<_>>().join(", "))
    }
}

impl std::error::Error for WiderThanGranted {}

impl RunGrants {
    /// Returns what a run gets: what it asks for, if all of that is granted.
    pub fn narrowed(&self, asked: &RunRequest) -> Result<Self, Box<WiderThanGranted>> {
        let missing = self.missing(asked);
        if !missing.is_empty() {
            let needed = self.clone().joined(&missing);
            return Err(Box::new(WiderThanGranted { missing, needed }));
        }
        Ok(Self {
            network: asked.network.clone().unwrap_or_else(|| self.network.clone()),
            env: asked.env.clone().unwrap_or_else(|| self.env.clone()),
            inputs: asked.inputs.clone(),
            memory: asked.memory.or(self.memory),
            time: asked.time.or(self.time),
        })
    }

    /// Returns what a run asks for and is not granted.
    fn missing(&self, asked: &RunRequest) -> Self {
        let network = asked.network.iter().flatten();
        let env = asked.env.iter().flatten();
        let covers = |wanted: &&NetworkGrant| self.network.iter().any(|own| own.covers(wanted));
        let holds =
            |wanted: &&InputPath| self.inputs.iter().any(|own| own.covers(wanted.as_path()));
        Self {
            network: network.filter(|wanted| !covers(wanted)).cloned().collect(),
            env: env.filter(|wanted| !self.env.contains(wanted)).cloned().collect(),
            inputs: asked.inputs.iter().filter(|wanted| !holds(wanted)).cloned().collect(),
            memory: asked.memory.filter(|wanted| *wanted > self.memory_limit()),
            time: asked.time.filter(|wanted| *wanted > self.time_limit()),
        }
    }

    /// Returns these grants and others together.
    #[must_use]
    pub fn joined(mut self, other: &Self) -> Self {
        self.network.extend(other.network.iter().cloned());
        self.env.extend(other.env.iter().cloned());
        self.inputs.extend(other.inputs.iter().cloned());
        self.memory = self.memory.max(other.memory);
        self.time = self.time.max(other.time);
        self
    }
}
