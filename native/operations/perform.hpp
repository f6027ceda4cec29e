#pragma once
#include <vector>

#include "operation.hpp"

namespace hearth {

/** Into how many units an operation is cut. */
std::size_t unitsOf(const Operation& operation, const KernelTable& table);

/** Bytes of a thread's scratch that `performUnit` needs. */
std::size_t scratchBytesOf(const Operation& operation, const KernelTable& table);

/** Does one unit. Doesn't allocate or throw. */
void performUnit(const Operation& operation, const KernelTable& table, std::size_t unit, ThreadScratch& scratch) noexcept;

/** Memory that changes while programs run: what `operation` reads of it, and what it writes. Weights are neither. */
void appendReads(const Operation& operation, std::vector<Range>& ranges);
void appendWrites(const Operation& operation, std::vector<Range>& ranges);

}  // namespace hearth
