//! Hands what libFuzzer makes to the target.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| evergraph_fuzz::fuzz_handler(data));
