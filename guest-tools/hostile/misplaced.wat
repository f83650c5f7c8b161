;;! about = "It returns a list from an address where none may be."
;;! world = "returns-numbers"
;;! status = "trap"
;;! kind = "trap"
(module (memory (export "memory") 1)
  (func (export "run") (result i32) (i32.store (i32.const 16) (i32.const 3)) (i32.store (i32.const 20) (i32.const 1)) (i32.const 16)))
