# `cmake --install build/release --prefix DIR`: the executable, the files it finds by name, and
# the RTL with its models.
include(GNUInstallDirs)
install(TARGETS qsim RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY configs models DESTINATION ${CMAKE_INSTALL_DATADIR}/qsim
  PATTERN "train" EXCLUDE)
# What the rtl engine needs: the sources of its models, and the models that were built.
install(DIRECTORY rtl/src DESTINATION ${CMAKE_INSTALL_DATADIR}/qsim/rtl)
install(DIRECTORY rtl/assertions DESTINATION ${CMAKE_INSTALL_DATADIR}/qsim/rtl OPTIONAL)
install(PROGRAMS rtl/build_model.sh DESTINATION ${CMAKE_INSTALL_DATADIR}/qsim/rtl)
install(FILES rtl/engine/core_abi.h rtl/engine/verilated_core.cpp
  rtl/engine/verilated_print.h DESTINATION ${CMAKE_INSTALL_DATADIR}/qsim/rtl/engine)
install(DIRECTORY ${CMAKE_BINARY_DIR}/rtl/ DESTINATION lib/qsim/rtl
  FILES_MATCHING PATTERN "*-plain-*.so" PATTERN "CMakeFiles" EXCLUDE)
# The chart library of --report, where ./dev has installed it.
install(FILES ${CMAKE_BINARY_DIR}/charts/vega.js DESTINATION ${CMAKE_INSTALL_DATADIR}/qsim/charts OPTIONAL)
install(FILES README.md LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR})
