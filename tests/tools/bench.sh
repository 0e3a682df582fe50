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

# tune: each call with a cache folder of its own.  Which choice is best is the machine's business.
try "help of tune" 0 clmirror-bench tune --help
for option in dry-run all devices json repeat help; do has "--$option"; done
CLMIRROR_CACHE=off try "tune without a cache" 2 clmirror-bench tune
says "CLMIRROR_CACHE=off"
says "--dry-run"
CLMIRROR_CACHE=off try "dry run" 0 clmirror-bench tune --dry-run --repeat 1 --json "$work/rows"
quiet
has "nothing is written"
for class in small tall wide square; do has "$class: "; done
[ "$(grep -c "^device: " "$work/out")" = 1 ] || fail "two devices of one kind are measured twice"
[ "$(grep -cE '^\{"bench":"tune","device":"basic[^"]*","class":"[a-z]+","choice":"[0-9a-z ]+","gain":[0-9.]+\}$' \
    "$work/rows")" = 4 ] || fail "rows: $(cat "$work/rows")"
mkdir "$work/tuned"
printf 'garbage\ngemm small packed 4 another device\n' >"$work/tuned/choices"
CLMIRROR_CACHE="$work/tuned" try tune 0 clmirror-bench tune --repeat 3
quiet
has "table: $work/tuned/choices"
head -n 1 "$work/tuned/choices" | grep -qx "gemm small packed 4 another device" || fail "the line of another device is gone"
grep -q garbage "$work/tuned/choices" && fail "the garbage is still there"
chosen=$(grep -cE "^(small|tall|wide|square): [0-9]+ rows is" "$work/out")
[ "$(grep -cE '^gemm (small|tall|wide|square) packed [0-9]+ basic' "$work/tuned/choices")" = "$chosen" ] ||
    fail "$chosen choices, and the table is: $(cat "$work/tuned/choices")"
CLMIRROR_CACHE="$work/tuned" try "tuned product" 0 clmirror-bench gemm --repeat 1 --shapes 32,64,20 128,64,300
touch "$work/file"
CLMIRROR_CACHE="$work/file" try "table cannot be written" 1 clmirror-bench tune --repeat 1
says "$work/file/choices"
CLMIRROR_CACHE="$work/file" try "file in the place of the folder" 0 clmirror-bench gemm --repeat 1 --shapes 8,8,8
quiet

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
CLMIRROR_CACHE="$work/none" CLMIRROR_CL_DIR="$work/cl" try "tune with wrong results" 1 clmirror-bench tune --repeat 1
says "not as expected"
[ ! -e "$work/none" ] || fail "a table of wrong results"
OPENCL_LAYERS=$layer CLMIRROR_FAULT="clEnqueueNDRangeKernel#4 -> -5" try "device failure" 1 clmirror-bench gemm \
    --shapes 40,40,40
says CL_OUT_OF_RESOURCES

# ---- step ----

try "help of step" 0 clmirror-bench step --help
for option in case epochs samples strategy against against-strategy profile devices json repeat help; do has "--$option"; done
usage() {
    try "step $1" 2 clmirror-bench step "${@:3}"
    says "$2"
    empty
}
usage "unknown case" "seed or mlp" --case mnist
usage "cnn" "no convolution" --case cnn
for value in 4 0 -1 5x 10001 ""; do usage "epochs $value" "--epochs \"$value\"" --epochs "$value"; done
for value in 0 x -3; do usage "samples $value" "--samples \"$value\"" --samples "$value"; done
usage devices "0 GPUs" --devices /GPU:0
usage "second devices" "0 GPUs" --against /GPU:0
usage strategy "valid keys" --strategy colour=red
usage "second strategy" "valid keys" --against-strategy colour=red
FASHION_MNIST=/nowhere usage "no data" dataset-fashion-mnist --case mlp

try step 0 clmirror-bench step --devices all --against 0.0 --repeat 2 --epochs 5 --json "$work/rows"
quiet
has "5 epochs, 2 repetitions, alternated"
has "ratio of the medians: all runs"
[ "$(wc -l <"$work/rows")" = 3 ] || fail "not 3 rows"
number='[0-9.e+-]+'
head -n 1 "$work/rows" | grep -qE "^\{\"bench\":\"step\",\"case\":\"seed\",\"devices\":\[\"[^\"]*\",\"[^\"]*\"\],\"replicas\":2,\
\"steps_per_s\":$number,\"samples_per_s\":$number,\"first_epoch_s\":$number,\"peak_rss_mb\":$number\}$" ||
    fail "rows: $(cat "$work/rows")"
sed -n 2p "$work/rows" | grep -q '"replicas":1,' || fail "rows: $(cat "$work/rows")"
tail -n 1 "$work/rows" | grep -qE "^\{\"bench\":\"step\",\"case\":\"seed\",\"ratio\":$number\}$" || fail "rows: $(cat "$work/rows")"
try profile 0 clmirror-bench step --devices all --repeat 1 --epochs 5 --profile --json "$work/rows"
quiet
has "time of a step on all"
[ "$(wc -l <"$work/rows")" = 3 ] || fail "not 3 rows"
for replica in 0 1; do
    grep -qE "^$replica( +[0-9.]+ (us|ms|s)){8} +[1-9][0-9]*\\.[0-9]$" "$work/out" || fail "no profile of replica $replica"
    grep -qE "\"profile\":\{\"device\":\"[^\"]*\",\"replica\":$replica,\"gather_s\":$number,\"forward_s\":$number,\"loss_s\":$number,\
\"backward_s\":$number,\"reduce_s\":$number,\"update_s\":$number,\"waiting_s\":$number,\"launches\":$number\}\}$" "$work/rows" ||
        fail "rows: $(cat "$work/rows")"
done
try "strategies" 0 clmirror-bench step --devices all --strategy collective=ring --against-strategy collective=naive \
    --repeat 1 --epochs 5
has "all, collective=naive"
if [ -r /usr/share/datasets/fashion-mnist/train-images-idx3-ubyte.gz ]; then
    try mlp 0 clmirror-bench step --case mlp --devices all --samples 1024 --epochs 5 --repeat 1 --json "$work/rows"
    has "mlp: 1024 samples, batch 256, 4 steps an epoch"
    grep -q '"case":"mlp"' "$work/rows" || fail "rows: $(cat "$work/rows")"
else
    echo "bench.sh: no Fashion-MNIST here, mlp is not tried"
fi

# tamper NAME MESSAGE FILE SED-SCRIPT BENCH...: a bench under a changed kernel fails, and says why.
tamper() {
    local cl
    cl=$(dirname "$0")/../../cl
    cp "$cl"/* "$work/cl/"
    sed -i "$4" "$work/cl/$3"
    cmp -s "$work/cl/$3" "$cl/$3" && fail "$1: the kernel was not changed"
    CLMIRROR_CL_DIR="$work/cl" try "$1" 1 clmirror-bench "${@:5}"
    says "$2"
    says "are wrong"
}
short=(step --devices all --repeat 1 --epochs 5)
tamper "loss not finite" "the loss is nan" loss.cl 's/w \* item_loss/NAN * &/' "${short[@]}" --json "$work/wrong"
[ "$(wc -l <"$work/wrong")" = 1 ] || fail "the row is not written"
tamper "other loss" "on one device" loss.cl 's/w \* item_loss/(items > 16 ? 1.0f : 1.01f) * &/' "${short[@]}"
tamper "loss rises" "was" optim.cl 's/if (has_factor) g \*= scale;/& g = -g;/' "${short[@]}"
OPENCL_LAYERS=$layer CLMIRROR_FAULT="clEnqueueNDRangeKernel#400 -> -5" try "device failure in a step" 1 clmirror-bench \
    "${short[@]}"
says CL_OUT_OF_RESOURCES

# ---- launch ----

try "help of launch" 0 clmirror-bench launch --help
try "launch, devices" 2 clmirror-bench launch --devices /GPU:0
try "launch, a stray word" 2 clmirror-bench launch 100
try launch 0 clmirror-bench launch --devices all --repeat 3 --json "$work/rows"
quiet
has "device 1: "
[ "$(wc -l <"$work/rows")" = 10 ] || fail "not 10 rows"
for what in alone row chain map read; do
    [ "$(grep -cE "^\{\"bench\":\"launch\",\"device\":\"[^\"]*\",\"what\":\"$what\",\"min_s\":$number,\"median_s\":$number,\
\"p95_s\":$number\}$" "$work/rows")" = 2 ] || fail "rows of $what: $(cat "$work/rows")"
done
POCL_DEVICES=pthread try "launch on threads" 0 clmirror-bench launch --repeat 3
quiet
tamper "launch, wrong sums" "expected" pointwise.cl 's/cm_store(CM_MAP(v), y, i, end);/cm_store(CM_MAP(v) + 1.0f, y, i, end);/' \
    launch --devices 0.0 --repeat 1

# ---- bench-peers ----

# peers NAME STATUS ARGUMENTS...: the script, with a peer that is a few lines of shell.
peers() {
    local built=$bin
    bin=$(dirname "$0")/../../tools
    CLMIRROR_PEERS="$work/scripts" XDG_CACHE_HOME="$work/cache" try "peers: $1" "$2" bench-peers --bin "$built" "${@:3}"
    bin=$built
}
mkdir -p "$work/scripts" "$work/cache/clmirror-peers/jax/bin"
cat >"$work/cache/clmirror-peers/jax/bin/python" <<'END'
#!/bin/sh
[ -z "$OPENBLAS_CORETYPE$OPENBLAS_L2_SIZE" ] || exit 1
echo "a line that is not JSON"
echo "{\"peer\": \"jax\", \"case\": \"$2\", \"steps_per_s\": 1000.5, \"samples_per_s\": 32000, \"import_s\": 1.25, \"first_epoch_s\": 1.5, \"rss_mb\": 291}"
END
chmod +x "$work/cache/clmirror-peers/jax/bin/python"
peers help 0 --help
has "Exit status"
for arguments in cnn --devices "--runs 0" "--runs x" "--samples 0" "--peers mxnet" --fast "--bin /nowhere"; do
    # shellcheck disable=SC2086
    peers "$arguments" 2 $arguments
    empty
done
OPENBLAS_CORETYPE=Haswell peers table 0 seed --runs 1 --json "$work/rows"
has "Machine: "
has "pytorch: not installed; $work/scripts/run pytorch installs it"
grep -qE '^clmirror, two basic devices +1 ' "$work/out" || fail "no row of two devices"
grep -qE '^JAX, jit, one process +1 +1000.5 +1000.5 +1000.5 +32000 +1.50 +291 +[0-9.]+ +[0-9.]+$' "$work/out" ||
    fail "no row of JAX"
grep -qE '^clmirror, one basic device, cold +1 ' "$work/out" || fail "no start-up"
grep -qE '^JAX, jit, one process +1 +2.75 +2.75 +2.75 +291$' "$work/out" || fail "no start-up of JAX"
grep -qE "^\{\"bench\":\"peers\",\"case\":\"seed\",\"who\":\"JAX, jit, one process\",\"runs\":1,\"steps_per_s\":1000.5,.*\
\"ratios\":\[$number,$number\]\}$" "$work/rows" || fail "rows: $(cat "$work/rows")"
echo 'exit 3' >"$work/cache/clmirror-peers/jax/bin/python"
peers "one that fails" 1 seed --runs 1 --no-startup --devices 0.1 --peers jax
says "JAX, jit, one process failed"
grep -qE '^clmirror, 0.1 +1 ' "$work/out" || fail "no row of the chosen device"
lacks start-up

finish
