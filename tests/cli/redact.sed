# What differs from run to run, machine to machine or build to build becomes a wildcard; `just bless` applies it.
/sha256:0{64}/!s/sha256:[0-9a-f]{64}/sha256:[..]/g
s/ · [0-9.]+ ms · / · [..] ms · /
s/ · [0-9,]+ KiB$/ · [..] KiB/
/200,000,000 fuel| 0 fuel/!s/ · [0-9,]+ fuel · / · [..] fuel · /
s/"(wall_us|memory_bytes|size)": [0-9]+/"\1": [..]/
/"fuel": 1000000,/!s/"fuel": [0-9]+/"fuel": [..]/
s/^[0-9]+ bytes, with docs/[..] bytes, with docs/
s/panicked at .*/panicked at [..]/
s/^  │ \{"found":.*/  │ {"found":[{"path":"\/project\/host\/src\/host\/[..]","line":[..]/
s/section range [0-9.]+ is/section range [..] is/
s/(builtin:triage has changed: it has the digest) sha256:[^,]*,/\1 sha256:[..],/
s/ time="[0-9.]+"/ time="[..]"/
s/^((ok  |FAIL)  .*)  [0-9]+ fuel$/\1  [..] fuel/
s/units of fuel, got [0-9]+/units of fuel, got [..]/
s/section range [0-9]+\.\.[0-9]+ is/section range [..] is/
