(component
  (core module $m (func (export "f")))
  (core instance $i (instantiate $m))
  (func (export "f") (canon lift (core func $i "f")))
  (@custom "witbox:manifest" "{\22version\22:1,\22docs\22:{\22\22:{\22items\22:{\22f\22:{\22docs\22:\22Does it.\22}}}},\22tools\22:{\22g\22:{\22read-only\22:true}}}"))
