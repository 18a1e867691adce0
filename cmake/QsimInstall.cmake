# `cmake --install build/release --prefix DIR`: the executable and the files it finds by name.
include(GNUInstallDirs)
install(TARGETS qsim RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY configs models DESTINATION ${CMAKE_INSTALL_DATADIR}/qsim
  PATTERN "train" EXCLUDE)
install(FILES README.md LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR})
