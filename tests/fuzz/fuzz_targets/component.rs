#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| witbox_fuzz::component(bytes));
