//! What a server says about itself.

use serde_json::{Value, json};

/// The name, description and look of a server, for people and models.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServerIdentity {
    /// The server's name, for programs and logs.
    pub name: String,
    /// The server's version.
    pub version: String,
    /// The name that clients show to people.
    pub title: Option<String>,
    /// One or two sentences about what the server is for.
    pub description: Option<String>,
    /// The address of a page about the server.
    pub website: Option<String>,
    /// Images that clients may show beside the name.
    pub icons: Vec<Icon>,
    /// What a model should know before anything else.
    pub instructions: Option<String>,
}

/// An image that clients may show beside a server's name.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Icon {
    /// The address of the image: an `https:` or a `data:` URI.
    pub src: String,
    /// The media type of the image, if it is known.
    pub media_type: Option<String>,
}

impl Icon {
    /// Describes an image by its address.
    pub fn new(src: impl Into<String>) -> Self {
        Self { src: src.into(), media_type: None }
    }

    /// Sets the media type.
    #[must_use]
    pub fn media_type(mut self, media_type: impl Into<String>) -> Self {
        self.media_type = Some(media_type.into());
        self
    }
}

impl Default for ServerIdentity {
    fn default() -> Self {
        Self::new("skillwire", env!("CARGO_PKG_VERSION"))
    }
}

impl ServerIdentity {
    /// Names a server.
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            version: version.into(),
            title: None,
            description: None,
            website: None,
            icons: Vec::new(),
            instructions: None,
        }
    }

    /// Sets the name that clients show to people.
    #[must_use]
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.title = Some(title.into());
        self
    }

    /// Sets what the server is for.
    #[must_use]
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }

    /// Sets the address of a page about the server.
    #[must_use]
    pub fn website(mut self, website: impl Into<String>) -> Self {
        self.website = Some(website.into());
        self
    }

    /// Adds an image.
    #[must_use]
    pub fn icon(mut self, icon: Icon) -> Self {
        self.icons.push(icon);
        self
    }

    /// Sets what a model should know before anything else.
    #[must_use]
    pub fn instructions(mut self, instructions: impl Into<String>) -> Self {
        self.instructions = Some(instructions.into());
        self
    }

    /// Returns the members that every result of the modern era repeats.
    pub fn short(&self) -> Value {
        json!({ "name": self.name, "version": self.version })
    }

    /// Returns everything, for the answers with which a server introduces itself.
    ///
    /// Only these have the icon and the texts: an icon may be an image of many kilobytes, and other
    /// results are sent often.
    pub fn full(&self) -> Value {
        let mut info = self.short();
        let texts = [
            ("title", &self.title),
            ("description", &self.description),
            ("websiteUrl", &self.website),
        ];
        for (member, text) in texts {
            if let Some(text) = text {
                info[member] = text.as_str().into();
            }
        }
        if !self.icons.is_empty() {
            let icons = self.icons.iter().map(|icon| match &icon.media_type {
                Some(media_type) => json!({ "src": icon.src, "mimeType": media_type }),
                None => json!({ "src": icon.src }),
            });
            info["icons"] = icons.collect();
        }
        info
    }
}
