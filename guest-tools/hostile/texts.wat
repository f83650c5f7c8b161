;;! about = "It returns millions of texts, all of which are the same four megabytes."
;;! world = "returns-texts"
;;! status = "limit"
;;! kind = "output"
(module (memory (export "memory") 100) (global $at (mut i32) (i32.const 5000000))
  (func (export "run") (result i32)
    (loop
      (i32.store (global.get $at) (i32.const 64))
      (i32.store offset=4 (global.get $at) (i32.const 4000000))
      (global.set $at (i32.add (global.get $at) (i32.const 8)))
      (br_if 0 (i32.lt_u (global.get $at) (i32.const 6000000))))
    (i32.store (i32.const 16) (i32.const 5000000)) (i32.store (i32.const 20) (i32.const 125000)) (i32.const 16)))
