//! Shared-memory segments between processes.
