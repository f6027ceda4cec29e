#include "job_thread.hpp"

#include <chrono>

#ifdef __linux__
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace hearth {

double secondsNow() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

int systemThread() {
#ifdef __linux__
  return static_cast<int>(syscall(SYS_gettid));
#else
  return 0;
#endif
}

}  // namespace hearth
