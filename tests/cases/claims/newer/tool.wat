(component
  (core module $m (func (export "f")))
  (core instance $i (instantiate $m))
  (func (export "f") (canon lift (core func $i "f")))
  (@custom "witbox:manifest" "{\22version\22:2,\22docs\22:{}}"))
