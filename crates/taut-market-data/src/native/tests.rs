//! The codec against bytes written by hand, against its schema file, and against anything at all.

mod any;
mod golden;
mod robust;
