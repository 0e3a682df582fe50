#!/bin/bash
# examples.sh - the lesson's programs: without arguments on the default devices, with a list on those.
#
# Usage: examples.sh BUILD/bin
set -u
bin=${1:?usage: examples.sh BUILD/bin}
. "$(dirname "$0")/support.bash"
find_fault_layer

try basic 0 seed_basic
quiet
has "Epoch 5/5"
has "256 rows in, 256 x 2 numbers out, on 2 replicas"
try "basic on four" 0 seed_basic '0.0*4'
has "on 4 replicas"

try devices 0 seed_devices
quiet
has "replica 1: basic"
has "replica 0 processed 1536 rows"
has "replica 1 processed 1536 rows"
has "16/16"
try "devices in order" 0 seed_devices 0.1,0.0
has "replica 1 processed 1536 rows"
POCL_DEVICES="basic basic basic basic" try "four devices" 0 seed_devices
has "replica 3 processed 768 rows"
has "8/8"
try "no GPU" 1 seed_devices /GPU:0,/GPU:1
says "/GPU:0"
says "there are 0 GPUs"
empty
OPENCL_LAYERS=$layer CLMIRROR_FAULT="clGetDeviceInfo.CL_DEVICE_TYPE -> say GPU" try "two GPUs" 0 seed_devices \
    /GPU:0,/GPU:1
quiet
has "replica 1 processed 1536 rows"

try sample 0 seed_sample
quiet
has "Number of devices: 2"
has "Epoch 3/3"
tail -n 1 "$work/out" | grep -qE '^Final training accuracy: 0\.[0-9]{4}$' || fail "the last line"
try "sample on one" 0 seed_sample 0.1
has "Number of devices: 1"
OCL_ICD_VENDORS=/nowhere try "no OpenCL" 1 seed_sample
says ocl-icd-libopencl1

finish
