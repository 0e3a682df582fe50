#!/bin/bash
# train.sh - clmirror-train from outside: options, what it prints where, files, signals, failures (cases A11, C01, C12,
# D13, E05).
#
# Usage: train.sh BUILD/bin.  Prints one block per failed check and a count; exit status 1 when a check failed.
set -u
bin=${1:?usage: train.sh BUILD/bin}
idx=$(cd "$(dirname "$0")/../data/idx" && pwd) || exit 1
. "$(dirname "$0")/support.bash"
find_fault_layer

model="dense units=16 activation=relu; dense units=2 activation=softmax"
small=(--data "random:100x8,2" --model "$model")

try help 0 clmirror-train --help
quiet
for option in data model optimizer loss metrics batch-size epochs devices seed validation-split validation-data \
    no-shuffle class-weight strategy verbose history json stop-on-nan summary help version; do
    has "--$option"
done
has "Exit status"
try version 0 clmirror-train --version
has "clmirror-train "

# Wrong usage: status 2, the option and the value in the message, nothing on standard output.
usage() {
    try "$1" 2 clmirror-train "${small[@]}" "${@:3}"
    says "$2"
    empty
}
for value in 0 -3 ten 5x "" 99999999999999999999; do usage "batch size $value" "--batch-size \"$value\"" --batch-size "$value"; done
for value in -1 x 1.5; do usage "epochs $value" "--epochs \"$value\"" --epochs "$value"; done
for value in -1 x 18446744073709551616; do usage "seed $value" "--seed \"$value\"" --seed "$value"; done
for value in 1 -0.1 nan x; do usage "split $value" "--validation-split" --validation-split "$value"; done
for value in 3 -1 x; do usage "verbose $value" "--verbose" --verbose "$value"; done
for value in 1 x:1 1: 1:x 0:1, -1:2 99999:1; do usage "class weight $value" "--class-weight" --class-weight "$value"; done
usage "unknown option" "--help" --nonsense
usage "stray word" "relu" relu
usage "devices" "nvidia" --devices nvidia
usage "strategy" "valid keys" --strategy colour=red
try "no data" 2 clmirror-train --model "$model"
says "--data is missing"
try "no model" 2 clmirror-train --data random:10x2,2
says "--model is missing"
try "wrong source" 2 clmirror-train --data randm:10x2,2 --model "$model"
says "random:ROWSxF,CLASSES"
try "unknown layer" 2 clmirror-train --data random:10x2,2 --model "dens units=2"
says 'did you mean "dense"'
try "unknown optimizer" 2 clmirror-train "${small[@]}" --verbose 0 --optimizer adum
says '"adam"'
try "unknown loss" 2 clmirror-train "${small[@]}" --verbose 0 --loss sparse_crossentropy
says "sparse_categorical_crossentropy"
try "unknown metric" 2 clmirror-train "${small[@]}" --verbose 0 --metrics "accuracy, precisely"
says "precisely"
try "no model file" 1 clmirror-train --data random:10x2,2 --model "@$work/none"
says "No such file"

for vendors in /nowhere/at-all "$work/empty"; do
    mkdir -p "$work/empty"
    OCL_ICD_VENDORS=$vendors try "C01 $vendors" 2 clmirror-train "${small[@]}"
    says "no OpenCL platform"
    says OCL_ICD_VENDORS
    says ocl-icd-libopencl1
    empty
done

# What is printed.
try good 0 clmirror-train "${small[@]}" --epochs 2
quiet
has "Training on 2 devices: basic"
has "Epoch 2/2"
has "Final training accuracy: 0."
try "one device" 0 clmirror-train "${small[@]}" --verbose 2 --devices 0.1
has "Training on 1 device: basic"
has "4/4 - "
try silent 0 clmirror-train "${small[@]}" --verbose 0
quiet
empty
try "no metrics" 0 clmirror-train "${small[@]}" --metrics none --verbose 2
has "Final training loss: "
lacks accuracy
try summary 0 clmirror-train "${small[@]}" --summary --epochs 0
has 'Model: "sequential"'
has "dense_1 (Dense)"
has "178"
lacks Epoch
lacks Final
printf 'dense units=16 activation=relu # first\ndense units=2 activation=softmax\n' >"$work/model"
try "model file" 0 clmirror-train --data random:100x8,2 --model "@$work/model" --verbose 2
has "Final training accuracy"

# C12, with validation.
POCL_DEVICES="basic basic basic basic" try C12 0 clmirror-train --data random:33x8,2 --model "$model" --batch-size 16 \
    --validation-data "random:20x8,2 seed=3" --verbose 2 --history "$work/c12.json"
quiet
has val_accuracy
[ "$(wc -l <"$work/out")" = 3 ] || fail "more was printed than was asked for"

# The JSON line, alone on standard output.
try json 0 clmirror-train "${small[@]}" --json --validation-split 0.2 --epochs 3 --summary
lines 1
says "Training on 2 devices"
says "Final training accuracy"
for key in '{"loss":0.' '"accuracy":0.' '"val_loss":0.' '"val_accuracy":0.' '"epochs":3' '"samples_per_second":' \
    '"devices":["basic' '"replicas":2' '"collective":"' '"stopped":false'; do
    has "$key"
done
cp "$work/out" "$work/first"
try "json again" 0 clmirror-train "${small[@]}" --json --validation-split 0.2 --epochs 3 --verbose 0
quiet
sed 's/"samples_per_second":[^,]*//' "$work/first" >"$work/first.cut"
sed 's/"samples_per_second":[^,]*//' "$work/out" | cmp -s - "$work/first.cut" || fail "two runs differ"
try "seed" 0 clmirror-train "${small[@]}" --json --validation-split 0.2 --epochs 3 --verbose 0 --seed 5
sed 's/"samples_per_second":[^,]*//' "$work/out" | cmp -s - "$work/first.cut" && fail "--seed changes nothing"
try "no epochs" 0 clmirror-train "${small[@]}" --json --epochs 0 --history "$work/none.json"
has '"epochs":0'
has '"rows":[0,0]'
[ "$(cat "$work/none.json")" = '{"epoch":[],"history":{}}' ] || fail "history: $(cat "$work/none.json")"
POCL_DEVICES="basic basic basic" try A11 0 clmirror-train --data random:100x8,2 --model "$model" --batch-size 10 --json \
    --verbose 0
has '"rows":[40,30,30]'
try "class weights" 0 clmirror-train "${small[@]}" --json --verbose 0 --class-weight 0:0,1:0 --validation-data none
has '{"loss":0,'
for collective in ring naive; do
    try "strategy $collective" 0 clmirror-train "${small[@]}" --json --verbose 0 --strategy "collective=$collective"
    has "\"collective\":\"$collective\""
done

# The history file.
try history 0 clmirror-train "${small[@]}" --epochs 2 --verbose 0 --history "$work/h.json"
grep -qE '^\{"epoch":\[0,1\],"history":\{"accuracy":\[0\.[0-9]+,0\.[0-9]+\],"loss":\[[0-9.]+,[0-9.]+\]\}\}$' "$work/h.json" ||
    fail "history: $(cat "$work/h.json")"
cp "$work/h.json" "$work/old.json"
for place in "$work/no/folder/h.json" "$work" /dev/null; do
    try "history in $place" 1 clmirror-train "${small[@]}" --history "$place"
    says "$place"
    empty
done
[ -c /dev/null ] || fail "/dev/null was replaced"
(failures=0; ulimit -f 0; trap '' XFSZ; try "no room" 1 clmirror-train "${small[@]}" --verbose 0 --history "$work/h.json" 2>/dev/null
    [ $failures = 0 ]) || fail "a history that cannot be written"
cmp -s "$work/h.json" "$work/old.json" || fail "the old history was not left whole"
ln -s h.json "$work/link.json"
try "history behind a link" 0 clmirror-train "${small[@]}" --epochs 3 --verbose 0 --history "$work/link.json"
[ -L "$work/link.json" ] && grep -q '"epoch":\[0,1,2\]' "$work/h.json" || fail "the link was replaced"

# E05.
flat="flatten; dense units=10 activation=softmax"
try "E05 a" 1 clmirror-train --data "idx:$idx/images-6x5x4.idx3-ubyte,$idx/labels-9.idx1-ubyte" --model "$flat"
says "has 6 rows"
says "has 9 labels"
try "E05 b" 1 clmirror-train --data "idx:$idx/labels-6.idx1-ubyte,$idx/images-6x5x4.idx3-ubyte" --model "$flat"
says "swapped?"
pair="idx:$idx/images-6x5x4.idx3-ubyte,$idx/labels-6.idx1-ubyte"
try "E05 c" 1 clmirror-train --data "$pair" --model "flatten input_shape=28,28,1; dense units=10 activation=softmax"
says "5, 4"
says "28, 28, 1"
try "E05 e" 1 clmirror-train --data "$pair" --model "flatten; dense units=4 activation=softmax"
says "sample 1"
says "label 4"
says "0 ... 3"
try "missing file" 1 clmirror-train --data "idx:$work/none,$work/none" --model "$flat"
says "No such file"

# A device fails in the second epoch: an error, and the history of the first.
OPENCL_LAYERS=$layer CLMIRROR_FAULT="clEnqueueNDRangeKernel@1#400 -> -5" try "device failure" 1 clmirror-train \
    --data random:1000x8,2 --model "$model" --epochs 1000 --verbose 0 --history "$work/f.json"
says "CL_OUT_OF_RESOURCES"
says "device 1"
grep -q '"epoch":\[0' "$work/f.json" || fail "history after a failure: $(cat "$work/f.json")"
try "not a number" 1 clmirror-train "${small[@]}" --verbose 0 --optimizer "sgd learning_rate=1e30" --epochs 20 --stop-on-nan
says "the loss is"
says "epoch 1, step"

# D13.  start NAME ARGUMENTS... begins a long run in the background; ended SIGNAL STATUS SECONDS stops it.
start() {
    name=$1
    shift
    checks=$((checks + 1))
    rm -rf "$work/d13"
    mkdir "$work/d13"
    "$bin/clmirror-train" --model "$model" --epochs 1000000 --verbose 2 --history "$work/d13/h.json" "$@" \
        >"$work/out" 2>"$work/err" &
    pid=$!
}
# Waits until the run has printed a text.
until_it_says() {
    for _ in $(seq 1200); do
        grep -qF -- "$1" "$work/out" && return
        kill -0 $pid 2>/dev/null || break
        sleep 0.05
    done
    fail "it never said \"$1\""
}
ended() {
    local expected=$1 limit=$2 begin=$SECONDS
    (sleep 60; kill -KILL $pid) 2>/dev/null &
    local guard=$!
    wait $pid
    local status=$?
    kill $guard 2>/dev/null
    wait $guard 2>/dev/null
    [ $status = "$expected" ] || fail "exit status $status, expected $expected"
    [ $((SECONDS - begin)) -le "$limit" ] || fail "took $((SECONDS - begin)) s"
    [ "$(find "$work/d13" -type f ! -name h.json | wc -l)" = 0 ] || fail "left: $(ls "$work/d13")"
    if [ -e "$work/d13/h.json" ]; then
        grep -qE '^\{"epoch":\[.*\],"history":\{.*\}\}$' "$work/d13/h.json" || fail "history: $(cat "$work/d13/h.json")"
    fi
}
four() { POCL_DEVICES="basic basic basic basic" start "$@"; }

four "D13 INT in an epoch" --data random:2000x20,2
until_it_says "Epoch 3/"
kill -INT $pid
ended 130 30
grep -q '"epoch":\[0,1' "$work/d13/h.json" || fail "the history lacks the first epochs"
has "Final training accuracy"
says "ended by signal 2"
[ -z "$(tail -c 1 "$work/out")" ] || fail "the last line is not ended"

four "D13 TERM in an epoch" --data random:2000x20,2
until_it_says "Epoch 2/"
kill -TERM $pid
ended 143 30
grep -q '"epoch":\[0' "$work/d13/h.json" || fail "the history lacks the first epoch"

four "D13 twice" --data random:2000x20,2
until_it_says "Epoch 2/"
kill -INT $pid
kill -INT $pid 2>/dev/null
ended 130 30

mkdir "$work/cold"
POCL_CACHE_DIR="$work/cold" four "D13 INT in the first kernel build" --data random:2000x20,2
until_it_says "Training on"
kill -INT $pid
ended 130 60
lacks "Epoch 2/"

four "D13 INT in the validation" --data random:32x20,2 --validation-data random:200000x20,2
until_it_says "Epoch 1/"
sleep 0.5
kill -INT $pid
ended 130 30

finish
