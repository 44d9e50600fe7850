//! The only module that talks to the API server.

pub mod object;
