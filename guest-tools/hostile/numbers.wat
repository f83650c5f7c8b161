;;! about = "It returns a million numbers, each of which takes the host five times as much."
;;! world = "returns-numbers"
;;! status = "limit"
;;! kind = "output"
(module (memory (export "memory") 500)
  (func (export "run") (result i32) (i32.store (i32.const 20) (i32.const 4000000)) (i32.const 16)))
