# Settings that every target shares, and the helpers that make targets from folders.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
if(NOT CMAKE_BUILD_TYPE)
    set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM)
    # A precompiled header is an input like any other, and dates in it do not matter.
    set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${CCACHE_PROGRAM})
    add_compile_options("$<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fpch-preprocess>")
endif()

add_compile_options("$<$<COMPILE_LANGUAGE:C,CXX>:-Wall;-Wextra;-Wno-unused-parameter>")
# GCC 12 sees overlapping copies where strings are put together (its bug 105651).
add_compile_options("$<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-restrict;-Wno-stringop-overflow>")
if(DECODESCOPE_SANITIZE)
    string(REPLACE "," ";" sanitizers "${DECODESCOPE_SANITIZE}")
    foreach(sanitizer IN LISTS sanitizers)
        add_compile_options(-fsanitize=${sanitizer})
        add_link_options(-fsanitize=${sanitizer})
    endforeach()
    add_compile_options(-fno-omit-frame-pointer -fno-sanitize-recover=all)
    if("undefined" IN_LIST sanitizers)
        # A null or wild pointer ends in the address sanitizer; these checks of it cost a fifth of the build.
        add_compile_options(-fno-sanitize=null,object-size,pointer-overflow,nonnull-attribute,returns-nonnull-attribute,vptr)
    endif()
endif()

# For code that is large and not hot: sanitized without optimisation, in half the time. Alignment is left to the
# libraries, which read mapped files.
function(decodescope_short_sanitized_build name)
    if(DECODESCOPE_SANITIZE)
        target_compile_options(${name} PRIVATE -O0 -g0)
        if("undefined" IN_LIST sanitizers)
            target_compile_options(${name} PRIVATE -fno-sanitize=alignment)
        endif()
    endif()
endfunction()

# A static library of all sources below a folder. Further arguments are what it links, i.e. what it may include.
function(decodescope_library name)
    file(GLOB_RECURSE sources CONFIGURE_DEPENDS *.cpp *.h)
    add_library(${name} STATIC ${sources})
    target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR})
    target_link_libraries(${name} PUBLIC ${ARGN})
    # Debug builds poison freed storage and check more.
    target_compile_definitions(${name} PUBLIC $<$<CONFIG:Debug>:DECODESCOPE_DEBUG=1>)
endfunction()

# For code that waits for the engine: more inlining would only lengthen the build.
function(decodescope_plain_optimisation name)
    target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O2>)
endfunction()

# The same for code that uses Qt: moc and the keyword ban.
function(decodescope_qt_library name)
    decodescope_library(${name} ${ARGN})
    decodescope_use_qt(${name})
endfunction()

# Headers of the standard library and fmt that most files include: compiled once for a library, read by each file.
set(decodescope_common_headers <fmt/format.h> <algorithm> <cmath> <functional> <map> <memory> <optional> <span>
    <stop_token> <string> <vector>)

function(decodescope_use_qt name)
    set_target_properties(${name} PROPERTIES AUTOMOC ON)
    decodescope_plain_optimisation(${name})
    target_compile_definitions(${name} PUBLIC QT_NO_KEYWORDS QT_NO_FOREACH)
endfunction()
