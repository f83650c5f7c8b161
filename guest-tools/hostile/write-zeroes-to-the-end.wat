;;! about = "The same with all that a number can say."
;;! status = "trap"
;;! kind = "trap"
(module (import "wasi:cli/stdout@0.2.0" "get-stdout" (func $stdout (result i32)))
  (import "wasi:io/streams@0.2.0" "[method]output-stream.blocking-write-zeroes-and-flush" (func $call (param i32 i64 i32)))
  (memory (export "memory") 1)
  (func (export "run") (call $call (call $stdout) (i64.const -1) (i32.const 16))))
