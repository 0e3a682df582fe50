# EmbedKernels.cmake - writes the OpenCL sources into one C file, as byte arrays.
#
#   cmake -DOUTPUT=kernels.c -DFOLDER=cl -P EmbedKernels.cmake
#
# Runs at build time whenever a file of cl/ changes.  Byte arrays have no length limit, unlike string literals, and
# need no escaping: a file is read as hexadecimal text and two regular expressions turn it into C.  Files are
# embedded as they are, cm_prelude.h too; src/device/kernels.h declares the table.
cmake_minimum_required(VERSION 3.16)

if(NOT OUTPUT OR NOT FOLDER)
    message(FATAL_ERROR "EmbedKernels.cmake needs -DOUTPUT=FILE.c and -DFOLDER=DIR")
endif()

file(GLOB files ${FOLDER}/*.cl ${FOLDER}/cm_prelude.h)
list(SORT files)

set(sixteen_bytes "................................")
set(arrays "")
set(entries "")
set(count 0)
foreach(file IN LISTS files)
    get_filename_component(name ${file} NAME_WE)
    file(READ ${file} hex HEX)
    file(SHA256 ${file} sha)
    string(SUBSTRING ${sha} 0 16 hash)
    string(LENGTH "${hex}" digits)
    math(EXPR bytes "${digits} / 2")
    string(REGEX REPLACE "(${sixteen_bytes})" "\\1\n" hex "${hex}")
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," hex "${hex}")
    string(APPEND arrays "static const unsigned char text_${name}[] = {\n${hex}0x00};\n\n")
    string(APPEND entries "    {\"${name}\", text_${name}, ${bytes}u, UINT64_C(0x${hash})},\n")
    math(EXPR count "${count} + 1")
endforeach()

file(WRITE ${OUTPUT} "/* Written by tools/cmake/EmbedKernels.cmake from the files of cl/; do not edit. */
#include \"device/kernels.h\"

${arrays}const cmi_kernel_source cmi_kernel_sources[] = {
${entries}    {NULL, NULL, 0, 0},
};
const size_t cmi_kernel_source_count = ${count};
")
