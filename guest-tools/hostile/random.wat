;;! about = "It asks for four gigabytes of random bytes at once."
;;! status = "trap"
;;! kind = "trap"
(module (import "wasi:random/random@0.2.0" "get-random-bytes" (func $random (param i64 i32)))
  (memory (export "memory") 1)
  (global $free (mut i32) (i32.const 1024))
  (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32)
    (local $at i32)
    (local.set $at (i32.and (i32.add (global.get $free) (i32.sub (local.get 2) (i32.const 1))) (i32.sub (i32.const 0) (local.get 2))))
    (global.set $free (i32.add (local.get $at) (local.get 3)))
    (local.get $at))
  (func (export "run") (call $random (i64.const 4294967296) (i32.const 16))))
