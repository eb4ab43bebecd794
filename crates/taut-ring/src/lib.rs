//! Rings and cells over slices of atomics that they are given.
