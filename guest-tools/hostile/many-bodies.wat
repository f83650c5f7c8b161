;;! about = "It writes bodies of requests that it never sends."
;;! status = "limit"
;;! kind = "objects"
(module (import "wasi:http/types@0.2.0" "[constructor]fields" (func $fields (result i32)))
  (import "wasi:http/types@0.2.0" "[constructor]outgoing-request" (func $new (param i32) (result i32)))
  (import "wasi:http/types@0.2.0" "[method]outgoing-request.body" (func $body (param i32 i32)))
  (import "wasi:http/types@0.2.0" "[method]outgoing-body.write" (func $stream (param i32 i32)))
  (import "wasi:io/streams@0.2.0" "[method]output-stream.check-write" (func $call (param i32 i32)))
  (import "wasi:io/streams@0.2.0" "[method]output-stream.write" (func $write (param i32 i32 i32 i32)))
  (memory (export "memory") 40)
  (func (export "run") (loop
    (call $body (call $new (call $fields)) (i32.const 16))
    (call $stream (i32.load (i32.const 20)) (i32.const 32))
    (call $call (i32.load (i32.const 36)) (i32.const 48))
    (call $write (i32.load (i32.const 36)) (i32.const 1000) (i32.wrap_i64 (i64.load (i32.const 56))) (i32.const 64))
    (br 0))))
