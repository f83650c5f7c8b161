;;! about = "It waits for 9223372036854775807 nanoseconds, by subscribe-duration."
;;! limits = { timeout = "300ms" }
;;! status = "timeout"
(module (import "wasi:io/poll@0.2.0" "[method]pollable.block" (func $block (param i32)))
  (import "wasi:clocks/monotonic-clock@0.2.0" "subscribe-duration" (func $subscribe (param i64) (result i32)))
  (memory (export "memory") 1)
  (func (export "run") (call $block (call $subscribe (i64.const 9223372036854775807)))))
