;;! about = "It returns all of its memory as a text."
;;! world = "returns-text"
;;! status = "limit"
;;! kind = "output"
(module (memory (export "memory") 900)
  (func (export "run") (result i32) (i32.store (i32.const 20) (i32.const 58900000)) (i32.const 16)))
