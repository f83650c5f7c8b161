;;! about = "It says that a folder was changed at the end of time."
;;! files = 1
;;! status = "ok"
(module (import "wasi:filesystem/preopens@0.2.0" "get-directories" (func $folders (param i32)))
  (import "wasi:filesystem/types@0.2.0" "[method]descriptor.set-times" (func $times (param i32 i32 i64 i32 i32 i64 i32 i32)))
  (memory (export "memory") 1)
  (global $free (mut i32) (i32.const 1024))
  (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32)
    (local $at i32)
    (local.set $at (i32.and (i32.add (global.get $free) (i32.sub (local.get 2) (i32.const 1))) (i32.sub (i32.const 0) (local.get 2))))
    (global.set $free (i32.add (local.get $at) (local.get 3)))
    (local.get $at))
  (func (export "run") (call $folders (i32.const 16))
    (call $times (i32.load (i32.load (i32.const 16))) (i32.const 2) (i64.const -1) (i32.const -1) (i32.const 2) (i64.const -9223372036854775808) (i32.const 999999999) (i32.const 32))))
