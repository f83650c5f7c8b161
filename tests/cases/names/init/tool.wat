(component
  (core module $m (func (export "init")))
  (core instance $i (instantiate $m))
  (func (export "init") (canon lift (core func $i "init"))))
