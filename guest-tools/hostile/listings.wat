;;! about = "It lists a folder of ten thousand files again and again, and keeps every list."
;;! files = 10000
;;! status = "trap"
;;! kind = "trap"
(module (import "wasi:filesystem/preopens@0.2.0" "get-directories" (func $folders (param i32)))
  (import "wasi:filesystem/types@0.2.0" "[method]descriptor.read-directory" (func $list (param i32 i32)))
  (memory (export "memory") 1)
  (global $free (mut i32) (i32.const 1024))
  (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32)
    (local $at i32)
    (local.set $at (i32.and (i32.add (global.get $free) (i32.sub (local.get 2) (i32.const 1))) (i32.sub (i32.const 0) (local.get 2))))
    (global.set $free (i32.add (local.get $at) (local.get 3)))
    (local.get $at))
  (func (export "run") (call $folders (i32.const 16))
    (loop
      (call $list (i32.load (i32.load (i32.const 16))) (i32.const 32))
      ;; Once it is refused there is nothing more to do.
      (if (i32.load8_u (i32.const 32)) (then unreachable))
      (br 0))))
