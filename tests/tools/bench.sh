#!/bin/bash
# bench.sh - clmirror-bench from outside: options, table, JSON rows, and that a wrong result is seen.  No figure is
# judged here.
#
# Usage: bench.sh BUILD/bin
set -u
bin=${1:?usage: bench.sh BUILD/bin}
. "$(dirname "$0")/support.bash"
find_fault_layer

try help 0 clmirror-bench --help
quiet
has gemm
try "help of gemm" 0 clmirror-bench gemm --help
for option in shapes implementation reference devices json repeat help; do has "--$option"; done
has "Exit status"
try "no bench" 2 clmirror-bench
says gemm
try "unknown bench" 2 clmirror-bench gem
says '"gem"'
for value in 1 1,2 1,2,3,xx 1,2,3,tt 1,2,3,nn,nn 0,1,1 1,-1,1 1,2,x 1,2,99999999 ""; do
    try "shape $value" 2 clmirror-bench gemm --shapes "$value"
    says "shape \"$value\""
    empty
done
for value in 0 -1 x 3x ""; do
    try "repeat $value" 2 clmirror-bench gemm --repeat "$value"
    says "--repeat"
done
try "implementation" 2 clmirror-bench gemm --implementation cublas
says cublas
try "stray word" 2 clmirror-bench gemm 1,2,3
says "1,2,3"
try "word behind another option" 2 clmirror-bench gemm --shapes 1,2,3 --repeat 2 4,5,6
says "4,5,6"
try "devices" 2 clmirror-bench gemm --devices /GPU:0
says "0 GPUs"
OCL_ICD_VENDORS=/nowhere try C01 2 clmirror-bench gemm --shapes 4,4,4
says ocl-icd-libopencl1
try "json in no folder" 1 clmirror-bench gemm --shapes 4,4,4 --json "$work/no/folder"
says "$work/no/folder"
empty

try shapes 0 clmirror-bench gemm --repeat 3 --json "$work/rows" --shapes 32,64,20 128,10,512,tn 7,5,3,nt
quiet
[ "$(grep -c packed "$work/out")" = 5 ] || fail "not 5 products"
[ "$(wc -l <"$work/rows")" = 5 ] || fail "not 5 rows"
grep -q '^{"bench":"gemm","op":"tn","m":128,"n":10,"k":512,"implementation":"packed","gflops":[0-9.]*,' "$work/rows" ||
    fail "rows: $(cat "$work/rows")"
grep -q reference "$work/rows" && fail "a reference that was not asked for"
for shape in 1,1,1 1,1,4096 129,1,1 1,131,2; do
    try "edge $shape" 0 clmirror-bench gemm --repeat 1 --shapes $shape
done
CLMIRROR_KERNEL_SHAPE=gpu try "GPU shape" 0 clmirror-bench gemm --repeat 1 --shapes 65,33,40
CLMIRROR_GEMM=clblast try "choice" 0 clmirror-bench gemm --implementation packed --repeat 1 --shapes 8,8,8
has packed

if ldconfig -p 2>/dev/null | grep -q libopenblas; then
    OPENBLAS_CORETYPE=Prescott try reference 0 clmirror-bench gemm --reference --repeat 3 --json "$work/rows" \
        --shapes 64,48,56
    has "reference: /"
    has "1 thread"
    has 'OPENBLAS_CORETYPE="Prescott" is ignored'
    has "geometric mean"
    lacks Prescott,
    [ "$(grep -c '"reference_gflops":[0-9.]*,"ratio":[0-9.]*' "$work/rows")" = 3 ] || fail "not 3 ratios"
    tail -n 1 "$work/rows" | grep -qE '^\{"bench":"gemm","geomean_ratio":[0-9.e-]+,"min_ratio":[0-9.e-]+\}$' ||
        fail "rows: $(cat "$work/rows")"
else
    echo "bench.sh: no OpenBLAS here, the reference is not tried"
fi

# What is named OpenBLAS but is not: no ratio.
mkdir "$work/lib"
cp "$layer" "$work/lib/libopenblas.so.0"
cp "$layer" "$work/lib/libopenblas.so"
LD_LIBRARY_PATH="$work/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" try "no reference" 2 clmirror-bench gemm --reference \
    --shapes 4,4,4 --json "$work/unmade"
says libopenblas0-pthread
lacks ratio
[ ! -e "$work/unmade" ] || fail "rows without a measurement"

# A result that is not what it should be: a small change of the kernel is enough.
mkdir "$work/cl"
cp "$(dirname "$0")"/../../cl/* "$work/cl/"
CLMIRROR_CL_DIR="$work/cl" try "own kernels" 0 clmirror-bench gemm --repeat 1 --shapes 40,40,40
sed -i 's/fma(ai, b0, lo\[i\])/fma(ai, b0, lo[i]) * 1.001f/' "$work/cl/gemm.cl"
cmp -s "$work/cl/gemm.cl" "$(dirname "$0")/../../cl/gemm.cl" && fail "the kernel was not changed"
CLMIRROR_CL_DIR="$work/cl" try "wrong result" 1 clmirror-bench gemm --repeat 1 --json "$work/wrong" --shapes 40,40,40
says "expected"
says "3 of 3 results are wrong"
[ "$(wc -l <"$work/wrong")" = 3 ] || fail "the rows are not written"
OPENCL_LAYERS=$layer CLMIRROR_FAULT="clEnqueueNDRangeKernel#4 -> -5" try "device failure" 1 clmirror-bench gemm \
    --shapes 40,40,40
says CL_OUT_OF_RESOURCES

finish
