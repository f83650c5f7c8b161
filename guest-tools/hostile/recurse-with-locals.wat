;;! about = "The same, with large frames."
;;! status = "limit"
;;! kind = "stack"
(module (memory (export "memory") 1)
  (func $f (param v128 v128 v128 v128 v128 v128 v128 v128)
    (call $f (local.get 1) (local.get 2) (local.get 3) (local.get 4) (local.get 5) (local.get 6) (local.get 7) (local.get 0))
    (call $f (local.get 0) (local.get 1) (local.get 2) (local.get 3) (local.get 4) (local.get 5) (local.get 6) (local.get 7)))
  (func (export "run") (local v128) (call $f (local.get 0) (local.get 0) (local.get 0) (local.get 0) (local.get 0) (local.get 0) (local.get 0) (local.get 0))))
