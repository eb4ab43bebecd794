//! The codec against bytes written by hand, against its schema file, and against anything at all;
//! the handler against a publisher of many instruments.

mod added;
mod any;
mod golden;
mod many;
mod orders;
mod robust;
