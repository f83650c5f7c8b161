;;! about = "It returns a case that there is not."
;;! world = "returns-enum"
;;! status = "trap"
;;! kind = "trap"
(module (memory (export "memory") 1) (func (export "run") (result i32) (i32.const 77)))
