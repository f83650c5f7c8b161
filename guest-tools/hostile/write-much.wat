;;! about = "It writes sixty megabytes at once."
;;! status = "limit"
;;! kind = "host-call"
(module (import "wasi:cli/stdout@0.2.0" "get-stdout" (func $stdout (result i32)))
  (import "wasi:io/streams@0.2.0" "[method]output-stream.write" (func $call (param i32 i32 i32 i32)))
  (memory (export "memory") 950)
  (func (export "run") (call $call (call $stdout) (i32.const 0) (i32.const 60000000) (i32.const 62000000))))
