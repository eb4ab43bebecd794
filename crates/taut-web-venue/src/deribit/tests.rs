//! The interface without connections.
