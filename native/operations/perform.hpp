#pragma once
#include <vector>

#include "operation.hpp"

namespace hearth {

/** The number of units into which an operation is cut. */
std::size_t unitsOf(const Operation& operation, const KernelTable& table);

/** Bytes of a thread's scratch that `performUnit` needs. */
std::size_t scratchBytesOf(const Operation& operation, const KernelTable& table);

/** Does one unit. Doesn't allocate or throw. */
void performUnit(const Operation& operation, const KernelTable& table, std::size_t unit, ThreadScratch& scratch) noexcept;

/** The memory that `operation` reads and writes, except weights, which never change. */
void appendReads(const Operation& operation, std::vector<Range>& ranges);
void appendWrites(const Operation& operation, std::vector<Range>& ranges);

}  // namespace hearth
