;;! about = "It waits for -1 nanoseconds, by subscribe-instant."
;;! limits = { timeout = "300ms" }
;;! status = "timeout"
(module (import "wasi:io/poll@0.2.0" "[method]pollable.block" (func $block (param i32)))
  (import "wasi:clocks/monotonic-clock@0.2.0" "subscribe-instant" (func $subscribe (param i64) (result i32)))
  (memory (export "memory") 1)
  (func (export "run") (call $block (call $subscribe (i64.const -1)))))
