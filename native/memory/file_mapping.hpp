#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>

#include "descriptor.hpp"
#include "file_faults.hpp"

namespace hearth {

/** A mapped file can't be read any more. The message says why, without the file's name. */
class FileFault : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/**
 * A file's bytes, mapped read-only from the page cache: nothing is copied, and the operating system may drop and reread
 * them. Bytes that can't be read any more, since the file has shrunk or its disk fails, are zeros: see `check`.
 */
class FileMapping {
 public:
  /** @throws std::system_error if the file can't be opened or mapped; std::runtime_error if it is empty */
  explicit FileMapping(const std::string& path);
  ~FileMapping();
  FileMapping(const FileMapping&) = delete;
  FileMapping& operator=(const FileMapping&) = delete;

  [[nodiscard]] std::span<const std::uint8_t> bytes() const { return bytes_; }
  /** Open as long as the mapping lives. */
  [[nodiscard]] int descriptor() const { return file_.number(); }
  /** Whether the file is shorter than when it was mapped. */
  [[nodiscard]] bool hasShrunk() const;
  /**
   * Throws a FileFault if what was read may be zeros: bytes couldn't be read, or the file has shrunk within its last
   * page, of which the operating system itself fills the rest with zeros. Takes less than a microsecond.
   */
  void check() const {
    if (faults_->happened() || hasShrunk()) fail();
  }
  /** Throws a FileFault that says what happened to the file. */
  [[noreturn]] void fail() const;

 private:
  Descriptor file_;
  std::span<const std::uint8_t> bytes_;
  std::optional<FaultGuard> faults_;
};

}  // namespace hearth
