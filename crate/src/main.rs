use std::process::ExitCode;

fn main() -> ExitCode {
    steplog::native::cli::main()
}
