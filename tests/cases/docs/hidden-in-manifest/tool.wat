(component
  (core module $m (func (export "f")))
  (core instance $i (instantiate $m))
  (func (export "f") (canon lift (core func $i "f")))
  (@custom "witbox:manifest" "{\22version\22:1,\22title\22:\22A\5cu202ebc\22,\22docs\22:{\22\22:{\22items\22:{\22f\22:{\22docs\22:\22Does\5cu202e it.\5cu001b[2J\5cudb40\5cudc41\5cu2066\22}}}},\22tools\22:{\22f\22:{\22title\22:\22F\5cu200bf\22}}}"))
