# check_symbols.cmake - the shared library exports its public functions and nothing else.
#
#   cmake -DLIBRARY=libclmirror.so -DNM=nm -P tests/check_symbols.cmake
#
# Every defined dynamic symbol must begin with cm_; cmi_ is the prefix of internal functions.
cmake_minimum_required(VERSION 3.16)

execute_process(COMMAND ${NM} -D --defined-only ${LIBRARY}
                OUTPUT_VARIABLE text RESULT_VARIABLE result ERROR_VARIABLE problem)
if(NOT result EQUAL 0)
    message(FATAL_ERROR "${NM} ${LIBRARY}: ${problem}")
endif()
string(REGEX MATCHALL "[A-Za-z] [^ \n]+\n" symbols "${text}")

set(wrong "")
set(count 0)
foreach(symbol IN LISTS symbols)
    string(REGEX REPLACE "^. ([^\n]*)\n$" "\\1" name "${symbol}")
    if(name MATCHES "^cm_")
        math(EXPR count "${count} + 1")
    elseif(NOT name MATCHES "^(_init|_fini|__bss_start|_edata|_end)$")
        string(APPEND wrong "  ${name}\n")
    endif()
endforeach()

if(wrong)
    message("${wrong}")
    message(FATAL_ERROR "exported, but not beginning with cm_")
elseif(count EQUAL 0)
    message(FATAL_ERROR "${LIBRARY} exports nothing")
endif()
message(STATUS "${count} exported symbols, all cm_")
