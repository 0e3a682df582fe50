# Sanitize.cmake - CLMIRROR_SANITIZE=address|undefined|thread, or several: "address;undefined".
#
# Adds the flags to an interface library that every target of ours links, so they reach compiling and linking
# alike.  ThreadSanitizer cannot be combined with AddressSanitizer.
function(clmirror_sanitize target sanitizers)
    string(REPLACE "," ";" sanitizers "${sanitizers}")
    foreach(sanitizer IN LISTS sanitizers)
        if(NOT sanitizer MATCHES "^(address|undefined|thread)$")
            message(FATAL_ERROR "CLMIRROR_SANITIZE: \"${sanitizer}\" is none of address, undefined, thread")
        endif()
    endforeach()
    if("thread" IN_LIST sanitizers AND "address" IN_LIST sanitizers)
        message(FATAL_ERROR "CLMIRROR_SANITIZE: thread and address exclude one another")
    endif()
    if(NOT sanitizers)
        return()
    endif()
    list(JOIN sanitizers "," joined)
    target_compile_options(${target} INTERFACE -fsanitize=${joined} -fno-omit-frame-pointer -g)
    target_link_options(${target} INTERFACE -fsanitize=${joined})
    if("undefined" IN_LIST sanitizers)
        target_compile_options(${target} INTERFACE -fno-sanitize-recover=undefined)
    endif()
endfunction()
