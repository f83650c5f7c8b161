(component
  (core module $m
    (memory (export "memory") 1)
    ;; The pairs a=1, b=2, a=3: a place and a length of each key, and its value.
    (data (i32.const 0) "\40\00\00\00\03\00\00\00")
    (data (i32.const 64)
      "\a0\00\00\00\01\00\00\00\01\00\00\00"
      "\a1\00\00\00\01\00\00\00\02\00\00\00"
      "\a0\00\00\00\01\00\00\00\03\00\00\00")
    (data (i32.const 160) "ab")
    (func (export "pairs") (result i32) (i32.const 0)))
  (core instance $i (instantiate $m))
  (func (export "pairs") (result (map string u32))
    (canon lift (core func $i "pairs") (memory $i "memory"))))
