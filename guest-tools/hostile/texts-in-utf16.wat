;;! about = "It returns texts in UTF-16, all of which are the same, and each of which takes the host three times as much."
;;! world = "returns-texts"
;;! encoding = "utf16"
;;! status = "limit"
;;! kind = "output"
(module (memory (export "memory") 100) (global $at (mut i32) (i32.const 1024))
  (func (export "run") (result i32)
    (loop
      (i32.store16 (global.get $at) (i32.const 0x4e00))
      (global.set $at (i32.add (global.get $at) (i32.const 2)))
      (br_if 0 (i32.lt_u (global.get $at) (i32.const 1708))))
    (global.set $at (i32.const 5000000))
    (loop
      (i32.store (global.get $at) (i32.const 1024))
      (i32.store offset=4 (global.get $at) (i32.const 342))
      (global.set $at (i32.add (global.get $at) (i32.const 8)))
      (br_if 0 (i32.lt_u (global.get $at) (i32.const 6500000))))
    (i32.store (i32.const 16) (i32.const 5000000)) (i32.store (i32.const 20) (i32.const 187500)) (i32.const 16)))
