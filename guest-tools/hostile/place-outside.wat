;;! about = "The place that it gives the host for an argument is outside of its memory."
;;! world = "takes-text"
;;! arguments = { text = "hello" }
;;! status = "trap"
;;! kind = "trap"
(module (memory (export "memory") 1)
  (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const -1))
  (func (export "run") (param i32 i32)))
