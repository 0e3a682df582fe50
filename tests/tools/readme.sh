#!/bin/bash
# readme.sh - the programs that README.md and clmirror.h show compile, without a warning, and run.
#
# Usage: readme.sh BUILD/bin        CTest runs it in the folder tests/
set -u
bin=${1:?usage: readme.sh BUILD/bin}
. "$(dirname "$0")/support.bash"
root=$(cd "$(dirname "$0")/../.." && pwd)
bin=$(cd "$bin" && pwd)

# The first block of C in README that has a main, and the indented program in the header's opening comment.
awk '/^```c$/ { inside = 1; text = ""; next } /^```$/ { if (inside && text ~ /int main/) { printf "%s", text; exit } inside = 0 }
     inside { text = text $0 "\n" }' "$root/README.md" >"$work/readme.c"
awk '/^ \*     / { sub(/^ \*     /, ""); print }' "$root/include/clmirror/clmirror.h" >"$work/header.c"

# A library built with sanitizers needs programs built with them.
flags=()
if grep -q __asan_init "$bin/../lib/libclmirror.so"; then flags=(-fsanitize=address,undefined); fi
# build NAME: into $work/NAME, so that try finds it.
build() {
    name="compile $1"
    checks=$((checks + 1))
    "${CC:-cc}" -std=c11 -Wall -Wextra -Werror -I"$root/include" "$work/$1.c" -o "$work/$1" \
        -L"$bin/../lib" -lclmirror -Wl,-rpath,"$bin/../lib" ${flags[@]+"${flags[@]}"} >"$work/out" 2>"$work/err" || fail "does not compile"
}
build readme
build header
bin=$work
try "README's program" 0 readme
has "Epoch 3/3"
has "Final training accuracy: 0."
quiet
try "the header's program" 0 header
has "on 2 devices"
quiet
finish
