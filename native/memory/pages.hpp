#pragma once
#include <cstddef>

#include "file_mapping.hpp"

/** What can be asked of the page cache about a mapped file. A platform that lacks a call says so by an exception. */
namespace hearth {

/** From byte `from` of the file up to, not including, `to`. */
struct FileRange {
  std::size_t from;
  std::size_t to;
};

/** Bytes of the range that are in memory and ready (mincore): 12 to 30 ms for a GiB. */
std::size_t residentBytes(const FileMapping& mapping, FileRange range);
/** Asks for the range without waiting. The kernel silently caps a call at its readahead: ask for 4 MiB at most. */
void adviseWillNeed(const FileMapping& mapping, FileRange range);
/** Reads the range and maps it, and waits until that is done. */
void populate(const FileMapping& mapping, FileRange range);
/** Whether page faults in the whole mapping read what they need and nothing ahead of it. */
void adviseRandom(const FileMapping& mapping, bool random);
/**
 * Gives the whole pages of the range back: unmaps them, then drops them from the page cache; either alone does nothing.
 * A large folio that reaches beyond the range stays: `lookBack` bytes before it, which are no longer mapped, are tried
 * again.
 */
void drop(const FileMapping& mapping, FileRange range, std::size_t lookBack);
/** Reads the range and keeps it in memory. Returns false where the system doesn't allow it so much (RLIMIT_MEMLOCK). */
bool lock(const FileMapping& mapping, FileRange range);
void unlock(const FileMapping& mapping, FileRange range);

}  // namespace hearth
