// What libsystemc's own `main` would call. The project's executables have a `main` of their own, so
// this never runs; but the library does not link without it.
extern "C" int sc_main(int, char**) { return 1; }
