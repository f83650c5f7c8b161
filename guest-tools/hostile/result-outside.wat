;;! about = "What it returns is outside of its memory."
;;! world = "returns-text"
;;! status = "trap"
;;! kind = "trap"
(module (memory (export "memory") 1) (func (export "run") (result i32) (i32.const -4)))
