//! A weather server with a tool of its own, and the skill that says how to use it.

#![expect(clippy::print_stderr, reason = "a person starts it and wants to know where it listens")]

use rmcp::{
    ServerHandler,
    handler::server::wrapper::Parameters,
    model::{Implementation, ServerCapabilities, ServerConfig},
    schemars, serde, tool, tool_handler, tool_router,
    transport::streamable_http_server::{
        StreamableHttpServerConfig, StreamableHttpService, session::local::LocalSessionManager,
    },
};
use skillwire_rmcp::{Skills, WithSkills, embed_skills};
use tokio::net::TcpListener;

struct Weather;

#[derive(serde::Deserialize, schemars::JsonSchema)]
#[serde(crate = "rmcp::serde")]
#[schemars(crate = "rmcp::schemars")]
struct Place {
    city: String,
}

#[tool_router]
impl Weather {
    #[tool(description = "The forecast for a city.")]
    fn forecast(Parameters(Place { city }): Parameters<Place>) -> String {
        format!("{city}, tomorrow: dry, 21 °C, wind 12 km/h, gusts 25 km/h.")
    }
}

#[tool_handler]
impl ServerHandler for Weather {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("weather", "1.0.0"))
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let skills =
        Skills::builder().embedded(embed_skills!("../skillwire-server/examples/skills")).build()?;
    let service = StreamableHttpService::new(
        move || Ok(WithSkills::new(Weather, &skills)), // The only line that knows of skills.
        LocalSessionManager::default().into(),
        StreamableHttpServerConfig::default()
            .with_allowed_origins(["http://localhost:*", "http://127.0.0.1:*"]),
    );
    let address = std::env::args().nth(1).unwrap_or("127.0.0.1:8641".to_owned());
    let listener = TcpListener::bind(address).await?;
    eprintln!("listening on http://{}/mcp", listener.local_addr()?);
    axum::serve(listener, axum::Router::new().nest_service("/mcp", service)).await?;
    Ok(())
}
