(component
  (import "acme:db/query@1.0.0" (instance $db
    (export "connection" (type $connection (sub resource)))
    (export "open" (func))))
  (core func $open (canon lower (func $db "open")))
  (core module $m
    (import "db" "open" (func $open))
    (func (export "use") (call $open))
    (func (export "fine")))
  (core instance $i (instantiate $m (with "db" (instance (export "open" (func $open))))))
  (func (export "use") (canon lift (core func $i "use")))
  (func (export "fine") (canon lift (core func $i "fine"))))
