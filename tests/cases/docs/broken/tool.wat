(component
  (core module $m (func (export "run")))
  (core instance $i (instantiate $m))
  (func (export "run") (canon lift (core func $i "run")))
  (@custom "witbox:manifest" "{\"version\":1,\"docs\":7}")
  (@custom "package-docs" ""))
