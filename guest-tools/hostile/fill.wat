;;! about = "It fills all of its memory again and again, without giving way in between."
;;! limits = { fuel = "100000G", memory = "256MiB", timeout = "300ms" }
;;! status = "timeout"
(module (memory (export "memory") 4000)
  (func (export "run") (loop (memory.fill (i32.const 0) (i32.const 1) (i32.const 262144000)) (br 0))))
