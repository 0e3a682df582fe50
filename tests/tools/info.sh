#!/bin/bash
# info.sh - clmirror-info from outside: exit status, what it prints where, and drivers that are missing, empty, broken,
# silent, doubled or crashing (cases C01, C02, C04, C05, C06, C07, C08).
#
# Usage: info.sh BUILD/bin.  The fault layer, which is a fake driver too, lies in BUILD/lib or where CM_FAULT_LAYER says.
# Prints one line per failed check and a count; exit status 1 when a check failed or none ran.
set -u
bin=${1:?usage: info.sh BUILD/bin}
info=$bin/clmirror-info
layer=${CM_FAULT_LAYER:-}
for place in "$bin/../lib" "$bin/../tests" "$bin"; do
    if [ -z "$layer" ] && [ -r "$place/fault_layer.so" ]; then layer=$(cd "$place" && pwd)/fault_layer.so; fi
done
[ -r "$layer" ] || { echo "info.sh: no fault_layer.so near $bin"; exit 1; }
[ -x "$info" ] || { echo "info.sh: no $info"; exit 1; }

work=$(mktemp -d /tmp/clmirror-info-XXXXXX) || exit 1
trap 'rm -rf "$work"' EXIT
mkdir "$work/plain" "$work/both" "$work/fake" "$work/empty" "$work/broken"
cp /etc/OpenCL/vendors/pocl.icd "$work/plain/" || exit 1
cp /etc/OpenCL/vendors/pocl.icd "$work/both/"
echo "$layer" >"$work/both/fake.icd"
echo "$layer" >"$work/fake/fake.icd"
echo /nowhere/libnothing.so >"$work/broken/x.icd"

checks=0 failures=0
fail() {
    failures=$((failures + 1))
    printf 'FAILED %s: %s\n--- output\n%s\n--- errors\n%s\n' "$name" "$1" "$(cat "$work/out")" "$(cat "$work/err")"
}
# try NAME STATUS [VARIABLE=value ...] -- ARGUMENTS: runs the program with only these variables about devices.
try() {
    name=$1
    local expected=$2 environment=()
    shift 2
    while [ "$1" != -- ]; do environment+=("$1"); shift; done
    shift
    env -u OPENCL_LAYERS -u RUSTICL_ENABLE -u CLMIRROR_DEVICES -u CLMIRROR_FAULT -u CUDA_VISIBLE_DEVICES \
        -u OCL_ICD_PLATFORM_SORT -u CLMIRROR_TIMEOUT_MS OCL_ICD_VENDORS="$work/plain" POCL_DEVICES="basic basic" \
        "${environment[@]}" timeout 60 "$info" "$@" >"$work/out" 2>"$work/err"
    local status=$?
    checks=$((checks + 1))
    [ $status = "$expected" ] || fail "exit status $status, expected $expected"
    if [ "$expected" = 0 ] && [ -s "$work/err" ]; then fail "something on standard error"; fi
}
has() { grep -qF -- "$1" "$work/out" || fail "\"$1\" is not in the output"; }
lacks() { ! grep -qF -- "$1" "$work/out" || fail "\"$1\" is in the output"; }
says() { grep -qF -- "$1" "$work/err" || fail "\"$1\" is not in the errors"; }

try good 0 --
has "Platform 0: Portable Computing Language"
has "0.1   CPU"
has "Default selection: there is no GPU and no accelerator"
has "rank 1   0.1"
has "POCL_DEVICES=\"basic basic\""
has "logical replicas"
lacks duplicate

for vendors in /nowhere/at-all "$work/empty" "$work/broken"; do
    try "C01 $vendors" 2 OCL_ICD_VENDORS="$vendors" --
    says "no OpenCL platform"
    says OCL_ICD_VENDORS
    says ocl-icd-libopencl1
    says pocl-opencl-icd
    [ "$(wc -l <"$work/err")" = 1 ] || fail "not one message"
    [ ! -s "$work/out" ] || fail "output beside the message"
    try "C01 json $vendors" 2 OCL_ICD_VENDORS="$vendors" -- --json
    has '"platforms":	[]'
done
try "C01 layer" 2 OPENCL_LAYERS="$layer" CLMIRROR_FAULT="clGetPlatformIDs -> say 0" --
says "(clGetPlatformIDs: 0 platforms)"

try C02 0 OCL_ICD_VENDORS="$work/both" OPENCL_LAYERS="$layer" CLMIRROR_FAULT="clGetDeviceIDs@0 -> -1" --
has "Platform 0: Fake platform"
has "no device (clGetDeviceIDs: CL_DEVICE_NOT_FOUND (-1))"
has "rank 0   1.0"

try C04 0 OPENCL_LAYERS="$layer" CLMIRROR_FAULT="clGetPlatformIDs -> say twice" --
has "duplicate: taken for the hardware of 0.0"
has "both: --devices 0.0,1.0"
has "rank 1   0.1"
lacks "rank 2"

try C05 2 OCL_ICD_VENDORS="$work/both" POCL_DEVICES=basic OPENCL_LAYERS="$layer" \
    CLMIRROR_FAULT="clGetPlatformInfo.CL_PLATFORM_NAME -> say Same" -- --devices Same
says "is ambiguous"
says "Same:1"

for rule in "clGetDeviceInfo@0 -> hang" "clGetDeviceIDs@0 -> hang"; do
    try "C06 $rule" 0 OCL_ICD_VENDORS="$work/both" CLMIRROR_TIMEOUT_MS=2000 OPENCL_LAYERS="$layer" \
        CLMIRROR_FAULT="$rule" --
    has "did not answer within 2.0 s"
    has OCL_ICD_VENDORS
    has "rank 0   1.0"
done
try "C06 loader" 2 OCL_ICD_VENDORS="$work/both" CLMIRROR_TIMEOUT_MS=500 CLMIRROR_FAKE_HANG=1 --
says "clmirror-info --probe"

try C07 0 CUDA_VISIBLE_DEVICES=1 GPU_DEVICE_ORDINAL=0 ROCR_VISIBLE_DEVICES= POCL_DEVICES=basic --
has 'CUDA_VISIBLE_DEVICES="1"'
has 'GPU_DEVICE_ORDINAL="0"'
has 'ROCR_VISIBLE_DEVICES=""'
has 'POCL_DEVICES="basic"'
has 'OCL_ICD_VENDORS='
lacks RUSTICL_ENABLE
try "C07 json" 0 CUDA_VISIBLE_DEVICES=1 -- --json
has '"CUDA_VISIBLE_DEVICES":	"1"'

cache=${POCL_CACHE_DIR-unset}
unset POCL_CACHE_DIR # not merely empty: that makes PoCL abort
try C08 2 HOME=/proc/nowhere XDG_CACHE_HOME=/proc/nope --
has POCL_CACHE_DIR
says POCL_CACHE_DIR
[ "$cache" = unset ] || export POCL_CACHE_DIR="$cache"

try unusable 0 OPENCL_LAYERS="$layer" CLMIRROR_FAULT="clGetDeviceInfo.CL_DEVICE_VENDOR@0 -> -5" --
has "not usable: CL_DEVICE_VENDOR: CL_OUT_OF_RESOURCES (-5)"
has "rank 0   0.1"

try selection 0 -- --devices "/CPU:1*2,0.0"
has "rank 0   0.1  CPU"
has "part 2 of 2: a logical replica"
has "rank 2   0.0"
try "selection by kind" 0 OPENCL_LAYERS="$layer" CLMIRROR_FAULT="clGetDeviceInfo.CL_DEVICE_TYPE -> say GPU" \
    -- -d /GPU:1,/GPU:0
has "rank 0   0.1  GPU"
has "rank 1   0.0  GPU"
try "all bits" 0 OPENCL_LAYERS="$layer" CLMIRROR_FAULT="clGetDeviceInfo.CL_DEVICE_TYPE -> say GPU|CPU" --
has "says that it is: CPU + GPU"
try "missing kind" 2 CUDA_VISIBLE_DEVICES=1 -- --devices /GPU:1
says "there are 0 GPUs; there is: 0.0 CPU"
says 'CUDA_VISIBLE_DEVICES="1"'
has "Platform 0"
try environment 0 CLMIRROR_DEVICES=0.1 --
has 'Selection "0.1" (CLMIRROR_DEVICES)'
try "wrong environment" 2 CLMIRROR_DEVICES=/GPU:0 --
says 'CLMIRROR_DEVICES="/GPU:0"'

try json 0 -- --json --devices "cpu*2"
has '"sub_device":	false'
has '"text":	"cpu*2"'
try knobs 0 CLMIRROR_SEED=7 -- --knobs
has "* CLMIRROR_SEED"
has CLMIRROR_DEVICES
try "knobs json" 0 -- --knobs --json
has '"variable":	"CLMIRROR_SEED"'
try help 0 -- --help
has "--devices SEL"
has "Exit status"
try version 0 -- --version
has "clmirror-info "
try "wrong option" 2 -- --nonsense
says "--help"
try "stray word" 2 -- gpu
says "--devices"
try "missing value" 2 -- --devices

try probe 0 OCL_ICD_VENDORS="$work/both" -- --probe
has "ok      $work/both/fake.icd: 1 platform, 1 usable device"
has "ok      $work/both/pocl.icd: 1 platform, 2 usable devices"
has "Platform 1"
try "probe of one file" 0 OCL_ICD_VENDORS="$work/plain/pocl.icd" -- --probe
has "ok      $work/plain/pocl.icd: 1 platform, 2 usable devices"
try "probe with a crash" 0 OCL_ICD_VENDORS="$work/both" CLMIRROR_FAKE_CRASH=1 -- --probe
has "BROKEN  $work/both/fake.icd: crashed: signal 6"
has "ok      $work/both/pocl.icd"
has "OCL_ICD_VENDORS at"
lacks "Platform 0"
try "probe with a crash, json" 0 OCL_ICD_VENDORS="$work/both" CLMIRROR_FAKE_CRASH=1 -- --probe --json
has '"ok":	false'
try "probe with a crash only" 2 OCL_ICD_VENDORS="$work/fake" CLMIRROR_FAKE_CRASH=1 -- --probe
try "probe with a hang" 0 OCL_ICD_VENDORS="$work/both" CLMIRROR_FAKE_HANG=1 CLMIRROR_TIMEOUT_MS=2000 -- --probe
has "BROKEN  $work/both/fake.icd: did not answer within 2.0 s"

echo "info.sh: $checks runs, $failures failed checks"
[ $checks -gt 0 ] && [ $failures = 0 ]
