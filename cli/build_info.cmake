# Run at every build: writes OUTPUT (build_info.cpp) when what it says has changed.
execute_process(COMMAND git describe --always --dirty WORKING_DIRECTORY ${SOURCE_DIR}
  OUTPUT_VARIABLE QSIM_COMMIT OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET
  RESULT_VARIABLE git_result)
if(NOT git_result EQUAL 0 OR QSIM_COMMIT STREQUAL "")
  set(QSIM_COMMIT unknown)
endif()
configure_file(${TEMPLATE} ${OUTPUT} @ONLY)
