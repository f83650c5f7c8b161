# Lists the recipes.
default:
    @just --list

# Runs every test.
test:
    cargo test

# What CI asks of the code beside its tests.
lint:
    cargo fmt --all --check
    cargo clippy --all-targets --locked -- -D warnings
    RUSTDOCFLAGS="-D warnings" cargo doc --no-deps --locked

# Rebuilds the guest tools into guest-tools/dist.
guests:
    guest-tools/build

# Switches off one check of the guards at a time, and sees that some test tells.
mutants *numbers:
    tests/mutants.py {{numbers}}

# Rewrites the tests' expectations; read the difference before you keep it.
bless:
    BLESS=1 cargo test --test cases --test providers
    TRYCMD=overwrite cargo test --test cli
    sed -i -E -f tests/cli/redact.sed tests/cli/*.trycmd

# Compares a call with bare wasmtime.
bench:
    cargo bench

# A hundred thousand mixed calls, some minutes.
soak:
    cargo test --test hostile -- --ignored

# Fuzzes one of the targets in tests/fuzz, such as `just fuzz message 600`; what it finds is kept in tests/fuzz/seeds.
fuzz target seconds="60":
    RUSTC_BOOTSTRAP=1 cargo fuzz run --fuzz-dir tests/fuzz -s none {{target}} -- -max_total_time={{seconds}} -rss_limit_mb=4096
