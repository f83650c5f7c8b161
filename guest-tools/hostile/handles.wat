;;! about = "It makes handles for ever."
;;! status = "limit"
;;! kind = "objects"
(component
  (type $thing (resource (rep i32)))
  (core func $new (canon resource.new $thing))
  (core module $m
    (import "host" "new" (func $new (param i32) (result i32)))
    (func (export "run") (loop (drop (call $new (i32.const 0))) (br 0))))
  (core instance $i (instantiate $m (with "host" (instance (export "new" (func $new))))))
  (func (export "run") (canon lift (core func $i "run"))))
