//! Every check on a machine that is as it should be, on one that is not, and on one that says
//! nothing: trees of files in a temporary folder.
#![forbid(unsafe_code)]

mod beside;
mod fake;
mod mended;
mod told;
mod wrong;
