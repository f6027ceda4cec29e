#pragma once
#include <atomic>
#include <memory>
#include <optional>
#include <vector>

#include "../memory/buffer.hpp"
#include "../threads/thread_pool.hpp"
#include "operation.hpp"

namespace hearth {

/**
 * Operations in order, run by the threads of a pool. Of an operation's units each thread has a share that follow each
 * other, so that what a kernel asks of memory ahead is its own; once they are done it takes the others' units. Threads go on
 * to the next operation without waiting, except where it touches memory that one since the last such place writes (or
 * writes memory that one reads): there they wait until all units before are done. Nobody waits for a thread that has no
 * unit.
 */
class Program {
 public:
  Program(const KernelTable& table, std::size_t threads) : table_(table), threads_(threads) {}

  void clear();
  /** y (+)= x·Wᵀ + bias, for as many tokens as x has: one is a matrix–vector product, several are packed first. */
  void multiply(const Multiplication& product);
  void append(Operation operation);
  /** May allocate scratch (and throw for lack of memory) before anything is run. */
  void run(ThreadPool& pool);

 private:
  struct Step {
    Operation operation;
    int units;
    /** Units of all operations before, if they must be done before this one begins; else 0. */
    int waitFor;
    /** The count of finished units, of all operations, that somebody waits for once this operation is done. */
    int target;
  };
  /** Activations of x prepared for a format: by every thread for itself (number), or packed for all (packs). */
  struct Source {
    std::span<const float> x;
    Type type;
    Rounding rounding;
    std::size_t number;
    std::span<const std::byte> packs;
  };

  bool mustWait(const Operation& operation);
  const Source* knownSource(Type type, Rounding rounding, std::span<const float> x) const;
  std::span<const std::byte> packsOf(const MatrixView& matrix, std::span<const float> x);
  /** The first unit of a thread's share of a step. */
  int beginOf(std::size_t step, std::size_t thread) const;
  /** The next unit of a thread's share, for whoever takes one. */
  std::atomic<int>& nextOf(std::size_t step, std::size_t thread);
  void work(std::size_t thread) noexcept;

  const KernelTable& table_;
  /** Threads of the pool that runs the program. */
  std::size_t threads_;
  std::vector<Step> steps_;
  std::vector<Range> reads_;
  std::vector<Range> writes_;
  std::vector<Source> sources_;
  std::size_t nextSource_ = 1;
  /** Packs of the multiplications of this program; replaced ones stay until the program has run. */
  std::vector<std::unique_ptr<Buffer>> packs_;
  int units_ = 0;
  /** Of each thread and step: what threads write often lies apart. */
  std::unique_ptr<std::atomic<int>[]> next_;
  std::size_t nextSize_ = 0;
  alignas(64) std::atomic<int> done_{0};
  std::optional<Buffer> scratch_;
  std::size_t scratchStride_ = 0;
};

}  // namespace hearth
