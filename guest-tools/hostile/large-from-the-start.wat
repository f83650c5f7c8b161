;;! about = "It has four gigabytes from the start."
;;! status = "limit"
;;! kind = "memory"
(component
  (core module $m (memory 65536) (func (export "run")))
  (core instance $i (instantiate $m))
  (func (export "run") (canon lift (core func $i "run"))))
