;;! about = "It returns millions of records of one bit."
;;! world = "returns-records"
;;! status = "limit"
;;! kind = "output"
(module (memory (export "memory") 100)
  (func (export "run") (result i32) (i32.store (i32.const 20) (i32.const 6000000)) (i32.const 16)))
