# SizeReport.cmake - prints the number of lines per folder, so that growth is seen.
#
#   cmake -DROOT=. -P tools/cmake/SizeReport.cmake
#
# Counts every line of our C, OpenCL and CMake files and scripts, names files past the size at which DESIGN asks
# whether a file is still one thing (500 lines; 250 for a .cl file), and never fails.
cmake_minimum_required(VERSION 3.16)

if(NOT ROOT)
    set(ROOT ${CMAKE_CURRENT_LIST_DIR}/../..)
endif()

get_filename_component(ROOT "${ROOT}" ABSOLUTE)

function(count_lines out file)
    file(READ ${file} text)
    string(REGEX REPLACE "[^\n]+" "" text "${text}")
    string(LENGTH "${text}" lines)
    set(${out} ${lines} PARENT_SCOPE)
endfunction()

function(pad out text width)
    string(LENGTH "${text}" length)
    while(length LESS width)
        string(APPEND text " ")
        math(EXPR length "${length} + 1")
    endwhile()
    set(${out} "${text}" PARENT_SCOPE)
endfunction()

set(report "")
set(long "")
set(library 0)
foreach(folder include src/base src/device src/ops src/comm src/nn src/data src/model src/train cl tools tests)
    file(GLOB_RECURSE files ${ROOT}/${folder}/*.c ${ROOT}/${folder}/*.h ${ROOT}/${folder}/*.def
         ${ROOT}/${folder}/*.cl ${ROOT}/${folder}/*.cmake)
    set(sum 0)
    set(number 0)
    foreach(file IN LISTS files)
        count_lines(lines ${file})
        math(EXPR sum "${sum} + ${lines}")
        math(EXPR number "${number} + 1")
        file(RELATIVE_PATH name ${ROOT} ${file})
        if(lines GREATER 500 OR (file MATCHES "\\.cl$" AND lines GREATER 250))
            string(APPEND long "  ${name}: ${lines} lines\n")
        endif()
    endforeach()
    pad(column ${folder} 14)
    string(APPEND report "  ${column} ${sum} lines in ${number} files\n")
    if(NOT folder MATCHES "^(tools|tests)$")
        math(EXPR library "${library} + ${sum}")
    endif()
endforeach()
string(APPEND report "  library        ${library} lines\n")
if(long)
    string(APPEND report "Is each of these still one thing?\n${long}")
endif()
execute_process(COMMAND ${CMAKE_COMMAND} -E echo "Lines per folder:\n${report}")
