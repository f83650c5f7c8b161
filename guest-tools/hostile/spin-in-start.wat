;;! about = "It never comes to be."
;;! status = "limit"
;;! kind = "fuel"
(module (memory (export "memory") 1)
  (func $start (loop (br 0)))
  (start $start)
  (func (export "run")))
