;;! about = "It returns half of a character."
;;! world = "returns-char"
;;! status = "trap"
;;! kind = "trap"
(module (memory (export "memory") 1) (func (export "run") (result i32) (i32.const 0xd800)))
