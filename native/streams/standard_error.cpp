#include "standard_error.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "../memory/descriptor.hpp"

namespace hearth {

namespace {

[[noreturn]] void fail(const std::string& what) { throw std::system_error(errno, std::generic_category(), what); }

}  // namespace

int divertStandardError(const std::string& path) {
  const Descriptor log(open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (log.number() < 0) fail(path);
  const int saved = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  if (saved < 0) fail("stderr");
  if (dup2(log.number(), STDERR_FILENO) < 0) {
    close(saved);
    fail("stderr");
  }
  return saved;
}

void restoreStandardError(int saved) {
  dup2(saved, STDERR_FILENO);
  close(saved);
}

}  // namespace hearth
