# Third-party libraries, all from Debian packages. A folder links only what docs/architecture.md
# allows it.
find_package(yaml-cpp REQUIRED)
find_package(PNG REQUIRED)
find_package(JPEG REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
find_package(Protobuf REQUIRED)
find_package(Threads REQUIRED)

# Only ONNX's protobuf classes are used: its own checker crashes on malformed models.
find_library(ONNX_PROTO_LIBRARY onnx_proto REQUIRED)
add_library(qsim_onnx_proto INTERFACE)
target_link_libraries(qsim_onnx_proto INTERFACE ${ONNX_PROTO_LIBRARY} protobuf::libprotobuf)
target_compile_definitions(qsim_onnx_proto INTERFACE ONNX_NAMESPACE=onnx ONNX_ML=1)

# Debian ships no CMake config for SystemC, and builds it as C++17: its headers check that user
# code says the same.
find_path(SYSTEMC_INCLUDE_DIR systemc REQUIRED)
find_library(SYSTEMC_LIBRARY systemc REQUIRED)
add_library(qsim_systemc_library INTERFACE)
target_include_directories(qsim_systemc_library SYSTEM INTERFACE ${SYSTEMC_INCLUDE_DIR})
target_link_libraries(qsim_systemc_library INTERFACE ${SYSTEMC_LIBRARY} Threads::Threads)
target_compile_definitions(qsim_systemc_library INTERFACE SC_CPLUSPLUS=201703L)
