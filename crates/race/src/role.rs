//! The role of a process in a load: server or client.

/// What a process is to the load. An arm applies to the servers unless it says otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// What is being scheduled.
    Server,
    /// What drives and measures it.
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
