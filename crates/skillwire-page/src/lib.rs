//! Pages that show skills, differences and decisions in a browser; rendered by the server.
