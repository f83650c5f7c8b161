(component
  (core module $m (func (export "wait")))
  (core instance $i (instantiate $m))
  (func (export "wait") async (canon lift (core func $i "wait"))))
