;;! about = "It takes all the memory that it is given and writes to each page, which is no crime."
;;! status = "ok"
(module (memory (export "memory") 1) (global $at (mut i32) (i32.const 0))
  (func (export "run")
    (block (loop (br_if 1 (i32.eq (memory.grow (i32.const 1)) (i32.const -1))) (br 0)))
    (block (loop
      (br_if 1 (i32.ge_u (global.get $at) (i32.sub (i32.mul (memory.size) (i32.const 65536)) (i32.const 4096))))
      (i32.store (global.get $at) (i32.const 1))
      (global.set $at (i32.add (global.get $at) (i32.const 4096)))
      (br 0)))))
