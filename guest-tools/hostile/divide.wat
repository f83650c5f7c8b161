;;! about = "It divides by nothing."
;;! status = "trap"
;;! kind = "trap"
(module (memory (export "memory") 1) (func (export "run") (drop (i32.div_u (i32.const 1) (i32.const 0)))))
