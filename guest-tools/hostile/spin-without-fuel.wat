;;! about = "It computes for ever, and nothing but time stops it."
;;! limits = { fuel = "100000G", timeout = "300ms" }
;;! status = "timeout"
(module (memory (export "memory") 1)
  (func (export "run") (loop (br 0))))
