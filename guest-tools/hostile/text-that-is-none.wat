;;! about = "It returns bytes that are no text."
;;! world = "returns-text"
;;! status = "trap"
;;! kind = "trap"
(module (memory (export "memory") 1) (data (i32.const 64) "\ff\fe\00\80")
  (func (export "run") (result i32) (i32.store (i32.const 16) (i32.const 64)) (i32.store (i32.const 20) (i32.const 4)) (i32.const 16)))
