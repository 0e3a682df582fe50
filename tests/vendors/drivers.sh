#!/usr/bin/env bash
# drivers.sh - runs a program with exactly the OpenCL drivers that are named, whatever else is installed.
#
#   drivers.sh pocl+rusticl PROGRAM [ARGUMENT...]
#
# Names: pocl, rusticl, oclgrind, intel.  Each becomes one .icd file, in this order, in a folder that OCL_ICD_VENDORS
# names.  The exit status is the program's, except that it is
#   1   when oclgrind reported anything, or a driver that tools/test installs is not here
#   77  when Intel's runtime is not here (CTest counts that as skipped); INTEL_OPENCL is the folder that intel.sh made
#
# oclgrind looks for accesses outside a buffer, races between work-items, and wrong calls.  Its search for memory that
# nobody wrote stays off: version 21.10 reports accesses to arenas that were filled and then written in part by the host,
# a thousand of them, which hides any real one; the fault layer's rule "poison" takes its place (tests/fault/test_same.c).
set -euo pipefail

names=$1
shift
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/icd"

# first PATTERN...: the first file that exists.
first() {
    local file
    for file in "$@"; do
        [ -e "$file" ] && echo "$file" && return 0
    done
    return 1
}

library() {
    case $1 in
    pocl) first /usr/lib/*/libpocl.so.2 /usr/lib/*/libpocl.so.* /usr/lib/libpocl.so.* ;;
    rusticl) first /usr/lib/*/libRusticlOpenCL.so.1 /usr/lib/libRusticlOpenCL.so.1 ;;
    oclgrind) first /usr/lib/oclgrind/liboclgrind-rt-icd.so /usr/lib/*/oclgrind/liboclgrind-rt-icd.so ;;
    intel) realpath -e "${INTEL_OPENCL-/nonexistent}/libintelocl.so" 2>/dev/null ;;
    *) echo "drivers.sh: no driver is called \"$1\"" >&2 && return 1 ;;
    esac
}

number=0
for name in ${names//+/ }; do
    if ! library "$name" >"$folder/icd/$number-$name.icd"; then
        if [ "$name" = intel ]; then
            echo "skipped: Intel's runtime is not in ${INTEL_OPENCL-INTEL_OPENCL (unset)}; intel.sh gets it with pip"
            exit 77
        fi
        echo "drivers.sh: the driver \"$name\" is not installed; tools/test --vendors and --oclgrind install it" >&2
        exit 1
    fi
    if [ "$name" = intel ]; then
        export LD_LIBRARY_PATH=$INTEL_OPENCL${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
    fi
    number=$((number + 1))
done

export OCL_ICD_VENDORS=$folder/icd
export OCLGRIND_CHECK_API=1 OCLGRIND_DATA_RACES=1 OCLGRIND_LOG=$folder/reports
status=0
"$@" || status=$?
if [ -s "$folder/reports" ]; then
    echo "oclgrind reported:"
    head -n 80 "$folder/reports"
    [ "$status" -ne 0 ] || status=1
fi
exit "$status"
