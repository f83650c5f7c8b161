(component
  (core module $m
    (memory (export "memory") 1)
    (func (export "run") (param i32 i32))
    (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 1024)))
  (core instance $i (instantiate $m))
  (func $run (param "who" string)
    (canon lift (core func $i "run") (memory $i "memory") (realloc (func $i "cabi_realloc"))))
  (instance $api (export "run" (func $run)))
  (export "acme:tools/runner@1.0.0" (instance $api))
  (@custom "package-docs"
    "\01{\"interfaces\":{\"runner\":{\"funcs\":{\"run\":{\"docs\":\"Runs.\\n\\nArgs:\\n  who: Who runs.\"}}},\"gone\":{\"docs\":\"Nowhere.\"}},\"worlds\":{\"elsewhere\":{}}}"))
