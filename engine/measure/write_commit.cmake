# Writes the commit of the source tree into HEADER, at every build, and touches the file only when it has changed.
# Arguments: SOURCE (the source tree), HEADER, GIT (the program; may be empty).
set(commit unknown)
if(GIT)
    execute_process(COMMAND "${GIT}" -C "${SOURCE}" rev-parse --show-toplevel
                    OUTPUT_VARIABLE top OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
    # A source archive that was unpacked inside another repository has no commit of its own.
    file(REAL_PATH "${SOURCE}" own)
    if(NOT failed AND NOT top STREQUAL "")
        file(REAL_PATH "${top}" top)
    endif()
    if(NOT failed AND top STREQUAL own)
        execute_process(COMMAND "${GIT}" -C "${SOURCE}" rev-parse --verify --short=12 HEAD
                        OUTPUT_VARIABLE head OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
        if(NOT failed)
            set(commit "${head}")
        endif()
    endif()
endif()
set(content "#define DECODESCOPE_COMMIT \"${commit}\"\n")
set(before "")
if(EXISTS "${HEADER}")
    file(READ "${HEADER}" before)
endif()
if(NOT before STREQUAL content)
    file(WRITE "${HEADER}" "${content}")
endif()
