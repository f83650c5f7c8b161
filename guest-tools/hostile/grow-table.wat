;;! about = "It makes a table larger until it is refused, and crashes."
;;! status = "limit"
;;! kind = "memory"
(module (memory (export "memory") 1) (table $t 1 funcref)
  (func (export "run") (loop
    (br_if 0 (i32.ne (table.grow $t (ref.null func) (i32.const 100000)) (i32.const -1)))
    unreachable)))
