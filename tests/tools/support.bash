# support.bash - what the scripts of this folder share: run a program, look at its exit status and its two outputs.
#
# Sourced after `bin` is set.  `work` is a folder of its own, removed in the end; finish prints the count and is the last
# command, so that its status is the script's.
work=$(mktemp -d /tmp/clmirror-tools-XXXXXX) || exit 1
trap 'rm -rf "$work"' EXIT
checks=0 failures=0 name=start
export POCL_DEVICES="basic basic"
unset CLMIRROR_DEVICES CLMIRROR_FAULT CLMIRROR_SEED OPENCL_LAYERS

fail() {
    failures=$((failures + 1))
    printf 'FAILED %s: %s\n--- output\n%s\n--- errors\n%s\n' "$name" "$1" "$(cat "$work/out")" "$(cat "$work/err")"
}
# try NAME STATUS PROGRAM ARGUMENTS...; VARIABLE=value goes before the call.
try() {
    name=$1
    local expected=$2 program=$3
    shift 3
    timeout 120 "$bin/$program" "$@" >"$work/out" 2>"$work/err"
    local status=$?
    checks=$((checks + 1))
    [ $status = "$expected" ] || fail "exit status $status, expected $expected"
}
has() { grep -qF -- "$1" "$work/out" || fail "\"$1\" is not in the output"; }
lacks() { ! grep -qF -- "$1" "$work/out" || fail "\"$1\" is in the output"; }
says() { grep -qF -- "$1" "$work/err" || fail "\"$1\" is not in the errors"; }
quiet() { [ ! -s "$work/err" ] || fail "something on standard error"; }
empty() { [ ! -s "$work/out" ] || fail "something on standard output"; }
lines() { [ "$(wc -l <"$work/out")" = "$1" ] || fail "not $1 lines of output"; }
finish() {
    echo "$(basename "$0"): $checks runs, $failures failed checks"
    [ $checks -gt 0 ] && [ $failures = 0 ]
}

# The fault layer, in `layer`.
find_fault_layer() {
    layer=${CM_FAULT_LAYER:-}
    for place in "$bin/../lib" "$bin/../tests" "$bin"; do
        if [ -z "$layer" ] && [ -r "$place/fault_layer.so" ]; then layer=$(cd "$place" && pwd)/fault_layer.so; fi
    done
    [ -r "$layer" ] || { echo "$(basename "$0"): no fault_layer.so near $bin"; exit 1; }
}
