;;! about = "It never ends once it has returned."
;;! world = "returns-text"
;;! status = "limit"
;;! kind = "fuel"
(module (memory (export "memory") 1)
  (func (export "cabi_post_run") (param i32) (loop (br 0)))
  (func (export "run") (result i32) (i32.const 16)))
