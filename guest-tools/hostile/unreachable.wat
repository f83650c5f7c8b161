;;! about = "It crashes."
;;! status = "trap"
;;! kind = "trap"
(module (memory (export "memory") 1) (func (export "run") unreachable))
