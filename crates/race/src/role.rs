//! The role of a process in a load: server or client.

/// Role of a process in a load. An arm applies to the servers by default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Work under test.
    Server,
    /// Load generator and measurement.
    Client,
}

impl Role {
    /// Both.
    pub const ALL: [Role; 2] = [Role::Server, Role::Client];

    /// The word for it in race files.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Role::Server => "server",
            Role::Client => "client",
        }
    }
}
