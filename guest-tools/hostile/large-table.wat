;;! about = "A table of a thousand million places."
;;! status = "limit"
;;! kind = "memory"
(component
  (core module $m (table 1000000000 funcref) (func (export "run")))
  (core instance $i (instantiate $m))
  (func (export "run") (canon lift (core func $i "run"))))
