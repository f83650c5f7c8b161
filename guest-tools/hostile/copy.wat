;;! about = "It moves all of its memory again and again."
;;! limits = { fuel = "100000G", memory = "256MiB", timeout = "300ms" }
;;! status = "timeout"
(module (memory (export "memory") 4000)
  (func (export "run") (loop (memory.copy (i32.const 0) (i32.const 4096) (i32.const 262139904)) (br 0))))
