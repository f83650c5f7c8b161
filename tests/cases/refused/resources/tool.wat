(component
  (core module $m
    (func (export "make") (result i32) (i32.const 1))
    (func (export "fine")))
  (core instance $i (instantiate $m))
  (type $session' (resource (rep i32)))
  (export $session "session" (type $session'))
  (func (export "[constructor]session") (result (own $session)) (canon lift (core func $i "make")))
  (func (export "make") (result (own $session)) (canon lift (core func $i "make")))
  (func (export "fine") (canon lift (core func $i "fine"))))
