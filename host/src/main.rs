//! The command `witbox`.

mod cli;

fn main() -> std::process::ExitCode {
    cli::main()
}
