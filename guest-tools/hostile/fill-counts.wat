;;! about = "Bytes that are filled at once count like instructions."
;;! limits = { fuel = "1G" }
;;! status = "limit"
;;! kind = "fuel"
(module (memory (export "memory") 1000)
  (func (export "run") (loop (memory.fill (i32.const 0) (i32.const 1) (i32.const 65536000)) (br 0))))
