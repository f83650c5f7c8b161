;;! about = "It returns flags with all bits set, of which some have no name."
;;! world = "returns-one-flags"
;;! status = "ok"
(module (memory (export "memory") 1) (func (export "run") (result i32) (i32.const -1)))
