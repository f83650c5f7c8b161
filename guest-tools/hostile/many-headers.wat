;;! about = "It makes headers for ever, each with as much as goes in."
;;! limits = { memory = "1MiB" }
;;! status = "limit"
;;! kind = "objects"
(module (import "wasi:http/types@0.2.0" "[constructor]fields" (func $new (result i32)))
  (import "wasi:http/types@0.2.0" "[method]fields.append" (func $append (param i32 i32 i32 i32 i32 i32)))
  (memory (export "memory") 1) (data (i32.const 64) "x-header")
  (func $start (memory.fill (i32.const 1000) (i32.const 97) (i32.const 20000)))
  (start $start)
  (func (export "run") (loop
    (call $append (call $new) (i32.const 64) (i32.const 8) (i32.const 1000) (i32.const 7900) (i32.const 16))
    (br 0))))
