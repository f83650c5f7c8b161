;;! about = "It reads beyond its memory, as far as it can name."
;;! status = "trap"
;;! kind = "trap"
(module (memory (export "memory") 1) (func (export "run") (drop (i64.load offset=4294967295 (i32.const -1)))))
