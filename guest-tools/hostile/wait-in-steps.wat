;;! about = "It waits for a moment, again and again."
;;! limits = { fuel = "100000G", timeout = "300ms" }
;;! status = "timeout"
(module (import "wasi:io/poll@0.2.0" "[method]pollable.block" (func $block (param i32)))
  (import "wasi:clocks/monotonic-clock@0.2.0" "subscribe-duration" (func $subscribe (param i64) (result i32)))
  (import "wasi:io/poll@0.2.0" "[resource-drop]pollable" (func $drop (param i32)))
  (memory (export "memory") 1) (global $p (mut i32) (i32.const 0))
  (func (export "run") (loop
    (global.set $p (call $subscribe (i64.const 1000)))
    (call $block (global.get $p)) (call $drop (global.get $p)) (br 0))))
