;;! about = "It subscribes for ever."
;;! status = "limit"
;;! kind = "objects"
(module (import "wasi:clocks/monotonic-clock@0.2.0" "subscribe-duration" (func $subscribe (param i64) (result i32)))
  (memory (export "memory") 1)
  (func (export "run") (loop (drop (call $subscribe (i64.const -1))) (br 0))))
