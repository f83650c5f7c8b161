(component
  (import "test:host/handles" (instance $handles (export "handle" (type (sub resource)))))
  (alias export $handles "handle" (type $handle))
  (core module $m (func (export "take") (param i32)))
  (core instance $i (instantiate $m))
  (func (export "take") (param "handle" (own $handle)) (canon lift (core func $i "take"))))
