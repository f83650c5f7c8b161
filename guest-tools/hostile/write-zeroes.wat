;;! about = "It writes four gigabytes of zeroes at once, which take no room where they come from."
;;! status = "trap"
;;! kind = "trap"
(module (import "wasi:cli/stdout@0.2.0" "get-stdout" (func $stdout (result i32)))
  (import "wasi:io/streams@0.2.0" "[method]output-stream.write-zeroes" (func $call (param i32 i64 i32)))
  (memory (export "memory") 1)
  (func (export "run") (call $call (call $stdout) (i64.const 4294967296) (i32.const 16))))
