(component
  (core module $m
    (func $spin (loop (br 0)))
    (start $spin)
    (func (export "run")))
  (core instance $i (instantiate $m))
  (func (export "run") (canon lift (core func $i "run"))))
