;;! about = "It prepares requests for ever and sends none, each with a long path."
;;! status = "limit"
;;! kind = "objects"
(module (import "wasi:http/types@0.2.0" "[constructor]fields" (func $fields (result i32)))
  (import "wasi:http/types@0.2.0" "[constructor]outgoing-request" (func $new (param i32) (result i32)))
  (import "wasi:http/types@0.2.0" "[method]outgoing-request.set-path-with-query" (func $path (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 20)
  (func $start (memory.fill (i32.const 1000) (i32.const 97) (i32.const 1000000)) (i32.store8 (i32.const 1000) (i32.const 47)))
  (start $start) (global $r (mut i32) (i32.const 0))
  (func (export "run") (loop
    (global.set $r (call $new (call $fields)))
    (drop (call $path (global.get $r) (i32.const 1) (i32.const 1000) (i32.const 900000)))
    (drop (call $path (global.get $r) (i32.const 1) (i32.const 1000) (i32.const 8000)))
    (br 0))))
