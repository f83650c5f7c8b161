;;! about = "Each place that it gives the host takes a megabyte more."
;;! world = "takes-lists"
;;! arguments = { lists = [["a", "b", "c", "d", "e", "f", "g", "h"], ["a", "b", "c", "d", "e", "f", "g", "h"], ["a", "b", "c", "d", "e", "f", "g", "h"], ["a", "b", "c", "d", "e", "f", "g", "h"], ["a", "b", "c", "d", "e", "f", "g", "h"], ["a", "b", "c", "d", "e", "f", "g", "h"], ["a", "b", "c", "d", "e", "f", "g", "h"], ["a", "b", "c", "d", "e", "f", "g", "h"]] }
;;! status = "limit"
;;! kind = "memory"
(module (memory (export "memory") 1)
  (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32)
    (if (i32.eq (memory.grow (i32.const 16)) (i32.const -1)) (then unreachable))
    (i32.const 1024))
  (func (export "run") (param i32 i32)))
