;;! about = "It asks for sixty thousand random bytes, again and again."
;;! limits = { fuel = "100000G", timeout = "500ms" }
;;! status = "timeout"
(module (import "wasi:random/random@0.2.0" "get-random-bytes" (func $random (param i64 i32)))
  (memory (export "memory") 40)
  (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 65536))
  (func (export "run") (loop (call $random (i64.const 60000) (i32.const 16)) (br 0))))
