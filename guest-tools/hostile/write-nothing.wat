;;! about = "It writes nothing, a thousand million times."
;;! limits = { fuel = "100000G", timeout = "500ms" }
;;! status = "timeout"
(module (import "wasi:cli/stdout@0.2.0" "get-stdout" (func $stdout (result i32)))
  (import "wasi:io/streams@0.2.0" "[method]output-stream.write" (func $call (param i32 i32 i32 i32)))
  (memory (export "memory") 2) (global $o (mut i32) (i32.const 0))
  (func (export "run") (global.set $o (call $stdout))
    (loop (call $call (global.get $o) (i32.const 0) (i32.const 0) (i32.const 100000)) (br 0))))
