(component
  (core module $m
    (table 0 funcref)
    (func (export "run")
      (loop (br_if 0 (i32.ne (table.grow 0 (ref.null func) (i32.const 1000000)) (i32.const -1))))
      unreachable))
  (core instance $i (instantiate $m))
  (func (export "run") (canon lift (core func $i "run"))))
