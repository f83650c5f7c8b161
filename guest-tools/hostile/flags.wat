;;! about = "It returns a megabyte of flags, each of which takes the host four hundred times as much."
;;! world = "returns-flags"
;;! status = "limit"
;;! kind = "output"
(module (memory (export "memory") 20)
  (func (export "run") (result i32)
    (memory.fill (i32.const 0) (i32.const 255) (i32.const 1250000))
    (i32.store (i32.const 1260000) (i32.const 0)) (i32.store (i32.const 1260004) (i32.const 300000)) (i32.const 1260000)))
