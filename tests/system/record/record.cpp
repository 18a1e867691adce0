// Preloaded into every process of the tests (environment.cmake): writes down which command lines
// were run and how they ended, and which qsim::Error was thrown, one JSON line each, into the file
// that QSIM_RECORD names. tests/system/meta/provoked.py compares the record with the pages. Nothing
// of qsim is linked, and libstdc++ is not needed, so that shells and compilers can carry it as
// well.
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <typeinfo>

#include <cxxabi.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "core/base/error.h"

namespace {

// A write beyond `ulimit -f` sends SIGXFSZ, which would end the process that is being watched.
// Blocked meanwhile, and taken away if the write sent it.
class WithoutFileSizeSignal {
 public:
  WithoutFileSizeSignal() {
    sigemptyset(&signal_);
    sigaddset(&signal_, SIGXFSZ);
    sigset_t pending;
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGXFSZ) == 1;
    sigprocmask(SIG_BLOCK, &signal_, &before_);
  }
  ~WithoutFileSizeSignal() {
    const timespec at_once{};
    if (!was_pending_) sigtimedwait(&signal_, nullptr, &at_once);
    sigprocmask(SIG_SETMASK, &before_, nullptr);
  }
  WithoutFileSizeSignal(const WithoutFileSizeSignal&) = delete;
  WithoutFileSizeSignal& operator=(const WithoutFileSizeSignal&) = delete;

 private:
  sigset_t signal_{};
  sigset_t before_{};
  bool was_pending_ = false;
};

// Whether `bytes` more stay below `ulimit -f`, which would cut a line in two.
bool has_room(int file, std::size_t bytes) {
  rlimit limit{};
  struct stat status {};
  if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || fstat(file, &status) != 0) return false;
  return limit.rlim_cur == RLIM_INFINITY ||
         static_cast<rlim_t>(status.st_size) + bytes <= limit.rlim_cur;
}

// One line, put together without the heap: the process may be in any state.
class Line {
 public:
  void raw(const char* text) {
    while (*text != '\0') put(*text++);
  }
  void quoted(const char* text) {
    put('"');
    for (; *text != '\0'; ++text) {
      const unsigned char c = static_cast<unsigned char>(*text);
      if (c == '"' || c == '\\') put('\\');
      if (c < 0x20) {
        constexpr char kHex[] = "0123456789abcdef";
        raw("\\u00");
        put(kHex[c >> 4]);
        put(kHex[c & 15]);
      } else {
        put(*text);
      }
    }
    put('"');
  }
  void number(int value) {
    char digits[12];
    std::size_t count = 0;
    for (unsigned rest = static_cast<unsigned>(value); count == 0 || rest > 0; rest /= 10) {
      digits[count++] = static_cast<char>('0' + rest % 10);
    }
    while (count > 0) put(digits[--count]);
  }
  // One write to a file opened for appending: lines of several processes do not mix. A line that is
  // too long is left out as a whole. System calls, so that what fails writes on purpose
  // (tests/faults) neither sees nor counts them.
  void append(const char* path) {
    put('\n');
    if (full_) return;
    const long file = syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_APPEND | O_CLOEXEC);
    if (file < 0) return;
    {
      const WithoutFileSizeSignal guard;
      if (has_room(static_cast<int>(file), size_)) syscall(SYS_write, file, text_, size_);
    }
    syscall(SYS_close, file);
  }

 private:
  void put(char c) {
    if (size_ < sizeof text_) {
      text_[size_++] = c;
    } else {
      full_ = true;
    }
  }
  char text_[16384];
  std::size_t size_ = 0;
  bool full_ = false;
};

const char* record_path() { return std::getenv("QSIM_RECORD"); }

const char* base_name(const char* path) {
  const char* slash = std::strrchr(path, '/');
  return slash == nullptr ? path : slash + 1;
}

// qsim itself, and what may interpret a script of ours.
bool is_interesting(const char* program) {
  for (const char* name : {"qsim", "bash", "python3", "verify_rtl", "cover_rtl"}) {
    if (std::strcmp(base_name(program), name) == 0) return true;
  }
  return false;
}

int argument_count = 0;
char** arguments = nullptr;
pid_t process = 0;

void record_exit(int status, void*) {
  const char* path = record_path();
  // A forked child, a subshell say, has its parent's arguments, and an exit code of its own.
  if (path == nullptr || getpid() != process) return;
  Line line;
  line.raw("{\"exit\": ");
  line.number(status & 255);
  line.raw(", \"argv\": [");
  for (int i = 0; i < argument_count; ++i) {
    if (i > 0) line.raw(", ");
    line.quoted(arguments[i]);
  }
  line.raw("]}");
  line.append(path);
}

// glibc gives constructors the arguments of main.
__attribute__((constructor)) void begin(int argc, char** argv, char**) {
  if (record_path() == nullptr || argc < 1 || !is_interesting(argv[0])) return;
  argument_count = argc;
  arguments = argv;
  process = getpid();
  on_exit(record_exit, nullptr);
}

void record_error(const qsim::Error& error) {
  const char* path = record_path();
  if (path == nullptr) return;
  Line line;
  line.raw("{\"code\": ");
  line.number(static_cast<int>(error.code()));
  line.raw(", \"message\": ");
  line.quoted(error.what());
  line.raw("}");
  line.append(path);
}

}  // namespace

// Stands before the C++ library's own, which it calls.
extern "C" void __cxxabiv1::__cxa_throw(void* thrown, std::type_info* type,
                                        void (*destructor)(void*)) {
  const bool is_ours =
      std::strcmp(type->name(), "N4qsim5ErrorE") == 0 ||
      std::strcmp(type->name(), "N4qsim7formats11MemoryErrorE") == 0;  // one of the former
  if (is_ours) {
    record_error(*static_cast<const qsim::Error*>(thrown));
  }
  using Throw = void (*)(void*, std::type_info*, void (*)(void*));
  // dlsym gives an object pointer for a function, as POSIX says.
  const auto next = reinterpret_cast<Throw>(dlsym(RTLD_NEXT, "__cxa_throw"));
  next(thrown, type, destructor);
  std::abort();
}
