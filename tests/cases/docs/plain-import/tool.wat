(component
  (import "plain" (instance $plain (export "f" (func))))
  (core func $f (canon lower (func $plain "f")))
  (core module $m (import "host" "f" (func)) (func (export "run")))
  (core instance $i (instantiate $m (with "host" (instance (export "f" (func $f))))))
  (func (export "run") (canon lift (core func $i "run"))))
