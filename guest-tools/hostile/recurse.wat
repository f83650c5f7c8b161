;;! about = "It calls itself for ever."
;;! status = "limit"
;;! kind = "stack"
(module (memory (export "memory") 1)
  (func $run (export "run") (call $run)))
