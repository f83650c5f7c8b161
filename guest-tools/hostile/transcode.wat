;;! about = "Two components pass each other a text of thirty megabytes, in loops that use next to no fuel."
;;! limits = { fuel = "100000G", memory = "256MiB", timeout = "300ms" }
;;! status = "timeout"
(component
  (component $reader
    (core module $m (memory (export "memory") 2000)
      (func (export "f") (param i32 i32))
      (func (export "realloc") (param i32 i32 i32 i32) (result i32) (i32.const 0)))
    (core instance $i (instantiate $m))
    (func (export "f") (param "s" string)
      (canon lift (core func $i "f") (memory (core memory $i "memory"))
        (realloc (core func $i "realloc")) string-encoding=utf16)))
  (instance $reader (instantiate $reader))
  (component $writer
    (import "f" (func $f (param "s" string)))
    (core module $memory (memory (export "memory") 1000))
    (core instance $memory (instantiate $memory))
    (core func $f' (canon lower (func $f) (memory (core memory $memory "memory"))))
    (core module $m
      (import "i" "f" (func $f (param i32 i32)))
      (func (export "run") (loop (call $f (i32.const 0) (i32.const 30000000)) (br 0))))
    (core instance $i (instantiate $m (with "i" (instance (export "f" (func $f'))))))
    (func (export "run") (canon lift (core func $i "run"))))
  (instance $writer (instantiate $writer (with "f" (func $reader "f"))))
  (export "run" (func $writer "run")))
