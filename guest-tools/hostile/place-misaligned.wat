;;! about = "The place that it gives the host is one where lists may not be."
;;! world = "takes-lists"
;;! arguments = { lists = [["a"]] }
;;! status = "trap"
;;! kind = "trap"
(module (memory (export "memory") 1)
  (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 3))
  (func (export "run") (param i32 i32)))
