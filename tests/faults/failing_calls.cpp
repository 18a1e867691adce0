// A library for LD_PRELOAD that makes one system call of a process fail, or hang, on purpose. It
// counts the calls of one kind that concern files beneath one folder:
//   QSIM_FAULT_FOLDER   an absolute path; other files are left alone
//   QSIM_FAULT_CALL     open, write, fsync, close, rename, mkdir, unlink or flock
//   QSIM_FAULT_NTH      the first call that fails, from 1
//   QSIM_FAULT_ERRNO    what it fails with; 0: a write() of half the bytes
//   QSIM_FAULT_ONWARD   set: every later call fails too, as on a disk that stays full
//   QSIM_FAULT_HANG     set: the call does not fail but takes an hour
//   QSIM_FAULT_SLOW_US  each call of these kinds takes so many microseconds longer
//   QSIM_FAULT_SIGNAL   the process sends itself this signal in mallopt(), qsim's first call of all
//   QSIM_FAULT_LOG      a file that comes into being when a call has failed or hangs
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdlib>
#include <cstring>

#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace {

constexpr int kTracked = 1024;
std::array<std::atomic<bool>, kTracked> tracked_files;
std::atomic<long> calls{0};

const char* setting(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

bool concerns(const char* path) {
  const char* folder = setting("QSIM_FAULT_FOLDER");
  return *folder != '\0' && std::strncmp(path, folder, std::strlen(folder)) == 0;
}

bool concerns(int fd) {
  return fd >= 0 && fd < kTracked && tracked_files[static_cast<std::size_t>(fd)];
}

void note_fault() {
  const char* log = setting("QSIM_FAULT_LOG");
  const long fd = ::syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  if (fd >= 0) ::syscall(SYS_close, fd);
}

// True, with errno, for the call that must fail. Short writes have errno 0.
bool fails(const char* call) {
  const long pause = std::atol(setting("QSIM_FAULT_SLOW_US"));
  if (pause > 0) ::usleep(static_cast<useconds_t>(pause));
  if (std::strcmp(call, setting("QSIM_FAULT_CALL")) != 0) return false;
  const long number = ++calls;
  const long chosen = std::atol(setting("QSIM_FAULT_NTH"));
  const bool onward = *setting("QSIM_FAULT_ONWARD") != '\0';
  if (number < chosen || (number > chosen && !onward)) return false;
  note_fault();
  if (*setting("QSIM_FAULT_HANG") != '\0') {
    ::sleep(3600);
    return false;
  }
  errno = std::atoi(setting("QSIM_FAULT_ERRNO"));
  return true;
}

template <typename Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

int tracked_open(const char* path, int flags, mode_t mode) {
  // What is only read is not at risk, but for folders, which are opened to be synced.
  const bool counts = concerns(path) && (flags & (O_WRONLY | O_RDWR | O_DIRECTORY)) != 0;
  if (counts && fails("open")) return -1;
  const auto fd = static_cast<int>(::syscall(SYS_openat, AT_FDCWD, path, flags, mode));
  if (counts && fd >= 0 && fd < kTracked) tracked_files[static_cast<std::size_t>(fd)] = true;
  return fd;
}

mode_t mode_of(int flags, va_list arguments) {
  return (flags & O_CREAT) != 0 ? va_arg(arguments, mode_t) : 0;
}

}  // namespace

extern "C" {

int open(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  return tracked_open(path, flags, mode);
}

int open64(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  return tracked_open(path, flags, mode);
}

ssize_t write(int fd, const void* bytes, size_t count) {
  if (concerns(fd) && fails("write")) {
    if (errno != 0) return -1;
    count = (count + 1) / 2;
  }
  return next<ssize_t(int, const void*, size_t)>("write")(fd, bytes, count);
}

int fsync(int fd) {
  if (concerns(fd) && fails("fsync")) return -1;
  return next<int(int)>("fsync")(fd);
}

// As the kernel does it: the file is closed, whatever close() says.
int close(int fd) {
  const bool concerned = concerns(fd);
  if (concerned) tracked_files[static_cast<std::size_t>(fd)] = false;
  const int result = next<int(int)>("close")(fd);
  return concerned && fails("close") ? -1 : result;
}

// By another name: <fcntl.h> has a struct flock.
int lock_file(int fd, int operation) __asm__("flock");
int lock_file(int fd, int operation) {
  if (concerns(fd) && fails("flock")) return -1;
  return next<int(int, int)>("flock")(fd, operation);
}

int mallopt(int parameter, int value) {
  const int number = std::atoi(setting("QSIM_FAULT_SIGNAL"));
  if (number > 0) ::kill(::getpid(), number);
  return next<int(int, int)>("mallopt")(parameter, value);
}

int rename(const char* from, const char* to) {
  if (concerns(to) && fails("rename")) return -1;
  return next<int(const char*, const char*)>("rename")(from, to);
}

int mkdir(const char* path, mode_t mode) {
  if (concerns(path) && fails("mkdir")) return -1;
  return next<int(const char*, mode_t)>("mkdir")(path, mode);
}

int unlink(const char* path) {
  if (concerns(path) && fails("unlink")) return -1;
  return next<int(const char*)>("unlink")(path);
}

}  // extern "C"
