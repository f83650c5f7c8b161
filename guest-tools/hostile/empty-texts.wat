;;! about = "It returns millions of empty texts."
;;! world = "returns-texts"
;;! status = "limit"
;;! kind = "output"
(module (memory (export "memory") 500)
  (func (export "run") (result i32) (i32.store (i32.const 20) (i32.const 4000000)) (i32.const 16)))
