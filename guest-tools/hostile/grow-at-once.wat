;;! about = "It asks for four gigabytes at once."
;;! status = "limit"
;;! kind = "memory"
(module (memory (export "memory") 1)
  (func (export "run") (if (i32.eq (memory.grow (i32.const 65535)) (i32.const -1)) (then unreachable))))
