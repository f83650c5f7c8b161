(component
  (core module $m (func (export "read") (result i32) (i32.const 0)))
  (core instance $i (instantiate $m))
  (type $s (stream u8))
  (func $read (result $s) (canon lift (core func $i "read")))
  (instance $api (export "read" (func $read)))
  (export "test:api/streaming" (instance $api)))
