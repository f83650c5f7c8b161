;;! about = "It returns lists of lists of lists, all of which are one."
;;! world = "returns-nested"
;;! status = "limit"
;;! kind = "output"
(module (memory (export "memory") 20)
  (func $fill (param $at i32) (param $end i32) (param $to i32) (param $count i32)
    (loop
      (i32.store (local.get $at) (local.get $to))
      (i32.store offset=4 (local.get $at) (local.get $count))
      (local.set $at (i32.add (local.get $at) (i32.const 8)))
      (br_if 0 (i32.lt_u (local.get $at) (local.get $end)))))
  (func (export "run") (result i32)
    (call $fill (i32.const 65536) (i32.const 73536) (i32.const 131072) (i32.const 1000))
    (call $fill (i32.const 131072) (i32.const 139072) (i32.const 1024) (i32.const 1))
    (i32.store (i32.const 16) (i32.const 65536)) (i32.store (i32.const 20) (i32.const 1000)) (i32.const 16)))
