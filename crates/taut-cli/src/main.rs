//! The `taut` command: what it does is in the library beside it.
#![forbid(unsafe_code)]

fn main() -> std::process::ExitCode {
    taut_cli::main()
}
