;;! about = "It calls a function as one of another type."
;;! status = "trap"
;;! kind = "trap"
(module (memory (export "memory") 1) (table 1 funcref) (elem (i32.const 0) $run)
  (func $run (export "run") (drop (call_indirect (param i64) (result i64) (i64.const 0) (i32.const 0)))))
