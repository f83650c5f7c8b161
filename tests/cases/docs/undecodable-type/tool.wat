(component
  (type $point' (record (field "x" u32)))
  (export $point "point" (type $point'))
  (core module $m (func (export "get") (result i32) (i32.const 7)))
  (core instance $i (instantiate $m))
  (func (export "get") (result $point) (canon lift (core func $i "get"))))
