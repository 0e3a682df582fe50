# check_layering.cmake - includes point only downwards.
#
#   cmake -DROOT=. -P tests/check_layering.cmake
#
# Reads the #include lines of every source file and compares them with the table below, which is the one of
# DESIGN: a folder of src/ may include its own headers and those of the folders listed for it, the public headers
# and the system's.  OpenCL and CLBlast belong to device/, MPI to comm/link_mpi.c, and the programs in tools/
# know the public headers only.  Prints every offending line and fails if there is one, or if it saw no file.
cmake_minimum_required(VERSION 3.16)
get_filename_component(ROOT "${ROOT}" ABSOLUTE)

set(may_base)
set(may_device base)
set(may_ops device base)
set(may_comm ops device base)
set(may_nn ops device base) # device: its opaque types; cl.h is kept in device/ below
set(may_data base)
set(may_model nn ops device base)
set(may_train model nn comm data ops device base)
set(folders base device ops comm nn data model train)

set(wrong "")
set(seen 0)

# Sets `wrong` and `seen` in the caller: checks one file that may include the given folders of src/.
macro(check_file file name vendor)
    math(EXPR seen "${seen} + 1")
    file(STRINGS ${file} includes REGEX "^[ \t]*#[ \t]*include")
    foreach(line IN LISTS includes)
        set(reason "")
        string(REGEX REPLACE "^[ \t]*#[ \t]*include[ \t]*" "" what "${line}")
        string(REGEX REPLACE "^([<\"][^>\"]*[>\"]).*" "\\1" what "${what}")
        if(what MATCHES "^[<\"](CL/|clblast)|^\"device/cl\\.h" AND NOT "${vendor}" STREQUAL "opencl")
            set(reason "OpenCL and CLBlast belong to src/device")
        elseif(what MATCHES "^[<\"]mpi\\.h" AND NOT "${name}" STREQUAL "src/comm/link_mpi.c")
            set(reason "MPI belongs to src/comm/link_mpi.c")
        elseif(what MATCHES "\\.\\./")
            set(reason "paths are relative to src/")
        elseif(what MATCHES "^\"([a-z_0-9-]+)/" AND NOT CMAKE_MATCH_1 IN_LIST allowed)
            set(reason "not below this folder")
        elseif(what MATCHES "^\"[^/]*\"" AND "${name}" MATCHES "^src/" AND NOT what MATCHES "registry\\.def")
            set(reason "paths are relative to src/")
        endif()
        if(reason)
            string(APPEND wrong "${name}: #include ${what}: ${reason}\n")
        endif()
    endforeach()
endmacro()

foreach(folder IN LISTS folders)
    set(allowed ${folder} ${may_${folder}})
    set(vendor none)
    if(folder STREQUAL "device")
        set(vendor opencl)
    endif()
    file(GLOB files ${ROOT}/src/${folder}/*.c ${ROOT}/src/${folder}/*.h)
    foreach(file IN LISTS files)
        file(RELATIVE_PATH name ${ROOT} ${file})
        check_file(${file} ${name} ${vendor})
    endforeach()
endforeach()

# A folder that the table does not know is a mistake as well.
file(GLOB children RELATIVE ${ROOT}/src ${ROOT}/src/*)
foreach(child IN LISTS children)
    if(IS_DIRECTORY ${ROOT}/src/${child} AND NOT child IN_LIST folders)
        string(APPEND wrong "src/${child}: no such folder in the table of check_layering.cmake\n")
    endif()
endforeach()

# Public headers include only one another; tools only them.  clmirror-bench and labs look inside.
file(GLOB files ${ROOT}/include/clmirror/*.h)
file(GLOB tools ${ROOT}/tools/clmirror-info/*.[ch] ${ROOT}/tools/clmirror-train/*.[ch] ${ROOT}/tools/examples/*.[ch])
set(allowed)
foreach(file IN LISTS files tools)
    file(RELATIVE_PATH name ${ROOT} ${file})
    check_file(${file} ${name} none)
endforeach()

if(seen EQUAL 0)
    message(FATAL_ERROR "no source file found under ${ROOT}")
elseif(wrong)
    message("${wrong}")
    message(FATAL_ERROR "includes that point the wrong way")
endif()
message(STATUS "${seen} files include only what lies below them")
