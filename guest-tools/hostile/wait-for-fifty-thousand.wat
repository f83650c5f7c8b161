;;! about = "It waits for the same thing fifty thousand times at once."
;;! status = "limit"
;;! kind = "objects"
(module (import "wasi:io/poll@0.2.0" "poll" (func $poll (param i32 i32 i32)))
  (import "wasi:clocks/monotonic-clock@0.2.0" "subscribe-duration" (func $subscribe (param i64) (result i32)))
  (memory (export "memory") 200) (global $at (mut i32) (i32.const 1000000))
  (global $p (mut i32) (i32.const 0))
  (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 4000000))
  (func (export "run")
    (global.set $p (call $subscribe (i64.const 0)))
    (loop
      (i32.store (global.get $at) (global.get $p))
      (global.set $at (i32.add (global.get $at) (i32.const 4)))
      (br_if 0 (i32.lt_u (global.get $at) (i32.const 1200000))))
    (loop (call $poll (i32.const 1000000) (i32.const 50000) (i32.const 16)) (br 0))))
