;;! about = "It gives one request two thousand headers."
;;! status = "trap"
;;! kind = "trap"
(module (import "wasi:http/types@0.2.0" "[constructor]fields" (func $new (result i32)))
  (import "wasi:http/types@0.2.0" "[method]fields.append" (func $append (param i32 i32 i32 i32 i32 i32)))
  (memory (export "memory") 1) (data (i32.const 64) "x-header") (global $f (mut i32) (i32.const 0)) (global $n (mut i32) (i32.const 0))
  (func (export "run") (global.set $f (call $new))
    (loop
      (call $append (global.get $f) (i32.const 64) (i32.const 8) (i32.const 64) (i32.const 8) (i32.const 16))
      (global.set $n (i32.add (global.get $n) (i32.const 1)))
      (br_if 0 (i32.lt_u (global.get $n) (i32.const 2000))))))
