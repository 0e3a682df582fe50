#!/usr/bin/env bash
# intel.sh - gets Intel's OpenCL runtime for CPUs from three Python packages, into a folder and nowhere else.
#
#   intel.sh FOLDER
#
# FOLDER/lib then holds links to the packages' libraries, except to their libOpenCL*, which would replace the loader of
# the system; drivers.sh takes it as INTEL_OPENCL.  What is there is not fetched again.  Exit status 77 (CTest: skipped)
# when there is no pip or it cannot get the packages.
set -euo pipefail

folder=$1
python=$(command -v python3 || echo false)
[ ! -e "$folder/lib/libintelocl.so" ] || exit 0

mkdir -p "$folder"
rm -rf "$folder/wheels" "$folder/files" "$folder/lib"
if ! "$python" -m pip download --quiet --disable-pip-version-check --no-deps --dest "$folder/wheels" \
    intel-opencl-rt intel-cmplr-lib-rt tbb; then
    echo "skipped: pip cannot get intel-opencl-rt, intel-cmplr-lib-rt and tbb"
    exit 77
fi
for wheel in "$folder"/wheels/*.whl; do
    "$python" -m zipfile -e "$wheel" "$folder/files"
done
rm -rf "$folder/wheels"
mkdir "$folder/links"
find "$folder/files" -name '*.so*' ! -name 'libOpenCL*' ! -name '*.py' -exec ln -s {} "$folder/links/" \;
mv "$folder/links" "$folder/lib"
[ -e "$folder/lib/libintelocl.so" ]
