;;! about = "It returns a text of four gigabytes, by its length."
;;! world = "returns-text"
;;! status = "trap"
;;! kind = "trap"
(module (memory (export "memory") 1)
  (func (export "run") (result i32) (i32.store (i32.const 20) (i32.const -1)) (i32.const 16)))
