;;! about = "It fills a large table again and again."
;;! limits = { fuel = "100000G", memory = "256MiB", timeout = "300ms" }
;;! status = "timeout"
(module (memory (export "memory") 1) (table $t 20000000 funcref) (elem declare func $run)
  (func $run (export "run") (loop (table.fill $t (i32.const 0) (ref.func $run) (i32.const 20000000)) (br 0))))
