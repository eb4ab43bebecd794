//! Both books against their slow twins, and what they promise, a sentence each.

mod allocation;
mod level_book;
mod order_book;
