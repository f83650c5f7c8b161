;;! about = "It returns sixty million bytes."
;;! world = "returns-bytes"
;;! status = "limit"
;;! kind = "output"
(module (memory (export "memory") 950)
  (func (export "run") (result i32) (i32.store (i32.const 20) (i32.const 60000000)) (i32.const 16)))
