;;! about = "It computes for ever."
;;! status = "limit"
;;! kind = "fuel"
(module (memory (export "memory") 1)
  (func (export "run") (loop (br 0))))
