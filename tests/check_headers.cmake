# check_headers.cmake - each public header compiles alone, as C11 and as C++17.
#
#   cmake -DROOT=. -DCC=cc -DCXX=c++ -P tests/check_headers.cmake
#
# "Alone" means that a source file which includes nothing else must compile, without a warning.
cmake_minimum_required(VERSION 3.16)
get_filename_component(ROOT "${ROOT}" ABSOLUTE)

file(GLOB headers RELATIVE ${ROOT}/include ${ROOT}/include/clmirror/*.h)
if(NOT headers)
    message(FATAL_ERROR "no header found under ${ROOT}/include")
elseif(NOT CC OR NOT CXX)
    message(FATAL_ERROR "needs a C and a C++ compiler (Debian: gcc g++)")
endif()

set(wrong "")
foreach(header IN LISTS headers)
    foreach(language IN ITEMS c c++)
        if(language STREQUAL "c")
            set(compiler ${CC} -std=c11)
        else()
            set(compiler ${CXX} -std=c++17)
        endif()
        execute_process(
            COMMAND ${CMAKE_COMMAND} -E echo "extern int not_empty;"
            COMMAND ${compiler} -Wall -Wextra -pedantic -Werror -I${ROOT}/include -include ${header}
                    -x ${language} -fsyntax-only -
            RESULT_VARIABLE result ERROR_VARIABLE problem)
        if(NOT result EQUAL 0)
            string(APPEND wrong "<${header}> as ${language}:\n${problem}\n")
        endif()
    endforeach()
endforeach()

if(wrong)
    message("${wrong}")
    message(FATAL_ERROR "headers that do not compile alone")
endif()
list(LENGTH headers count)
message(STATUS "${count} headers compile alone as C11 and C++17")
