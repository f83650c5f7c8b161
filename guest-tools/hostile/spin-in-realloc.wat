;;! about = "It never gives the host a place for an argument."
;;! world = "takes-text"
;;! arguments = { text = "x" }
;;! status = "limit"
;;! kind = "fuel"
(module (memory (export "memory") 1)
  (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (loop (br 0)) unreachable)
  (func (export "run") (param i32 i32)))
