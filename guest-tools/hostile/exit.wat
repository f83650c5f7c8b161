;;! about = "It exits in place of returning."
;;! status = "trap"
;;! kind = "trap"
(module (import "wasi:cli/exit@0.2.0" "exit" (func $exit (param i32)))
  (memory (export "memory") 1) (func (export "run") (call $exit (i32.const 0))))
