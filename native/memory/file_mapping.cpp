#include "file_mapping.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <stdexcept>
#include <system_error>

namespace hearth {
namespace {

[[noreturn]] void refuse(const char* what) { throw std::system_error(errno, std::generic_category(), what); }

}  // namespace

FileMapping::FileMapping(const std::string& path) : file_(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
  if (file_.number() < 0) refuse("can't be opened");
  struct stat status {};
  if (fstat(file_.number(), &status) != 0) refuse("can't be examined");
  if (!S_ISREG(status.st_mode)) throw std::runtime_error("is not a regular file");
  if (status.st_size == 0) throw std::runtime_error("is empty");
  const auto size = static_cast<std::size_t>(status.st_size);
  void* address = mmap(nullptr, size, PROT_READ, MAP_SHARED, file_.number(), 0);
  if (address == MAP_FAILED) refuse("can't be mapped");
  bytes_ = {static_cast<const std::uint8_t*>(address), size};
  try {
    faults_.emplace(bytes_);
  } catch (...) {
    munmap(address, size);
    throw;
  }
}

FileMapping::~FileMapping() {
  faults_.reset();
  munmap(const_cast<std::uint8_t*>(bytes_.data()), bytes_.size());
}

bool FileMapping::hasShrunk() const {
  struct stat status {};
  return fstat(file_.number(), &status) == 0 && static_cast<std::size_t>(status.st_size) < bytes_.size();
}

void FileMapping::fail() const {
  struct stat status {};
  if (fstat(file_.number(), &status) != 0 || static_cast<std::size_t>(status.st_size) >= bytes_.size()) {
    throw FileFault("can't be read any more: its disk reports an error");
  }
  throw FileFault("has shrunk from " + std::to_string(bytes_.size()) + " to " + std::to_string(status.st_size) +
                  " bytes while it was in use; restore it and start again");
}

}  // namespace hearth
