;;! about = "It takes memory until it is refused, and crashes."
;;! status = "limit"
;;! kind = "memory"
(module (memory (export "memory") 1)
  (func (export "run") (loop
    (br_if 0 (i32.ne (memory.grow (i32.const 16)) (i32.const -1)))
    unreachable)))
