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
 * Operations in order, run by the threads of a pool. Each thread has a contiguous share of an operation's units, so
 * that what a kernel prefetches is its own; when the share is done, the thread takes units of other shares. Threads go
 * on to the next operation without waiting, unless it reads memory that an operation since the last wait writes, or
 * writes memory that one reads or writes: then they wait until all earlier units are done. A thread without a unit is
 * never waited for.
 */
class Program {
 public:
  /** @param rounding of products that gain from it */
  Program(const KernelTable& table, std::size_t threads, Rounding rounding)
      : table_(table), threads_(threads), rounding_(rounding) {}

  void clear();
  /** y (+)= x·Wᵀ + bias, for as many tokens as x has. */
  void multiply(const Multiplication& product);
  /** y[choice] = x·W(expert)ᵀ + bias(expert), with the experts that the routes have when the program runs. */
  void multiply(const ExpertMultiplication& product);
  /** Attention of as many tokens as there are queries. Sets the operation's rounding. */
  void attend(AttentionOperation operation, Way way);
  void attend(AttendPagesOperation operation, Way way);
  void append(Operation operation);
  /**
   * Gives the operations other tokens and another position: those of every embedding, and where every store and
   * attention begins. Throws std::invalid_argument if they don't fit, or if attention is to pages, whose places are
   * their own.
   */
  void place(std::span<const std::size_t> tokens, std::size_t position);
  [[nodiscard]] bool uses(const CacheView& cache) const;
  /** Whether there is so little to do, wherever it is placed, that waking and waiting for other threads takes longer. */
  [[nodiscard]] bool isSmall() const;
  /** Unpacks the matrices of products with one token, where that makes them faster. */
  void unpack();
  /** Threads of the pool that it is for. */
  [[nodiscard]] std::size_t threads() const { return threads_; }
  /** May allocate scratch memory, and throw if there is none, before anything is run. */
  void run(ThreadPool& pool);

 private:
  struct Step {
    Operation operation;
    int units;
    /** Units of all earlier operations if they must be done before this one begins, otherwise 0. */
    int waitFor;
    /** Number of finished units, of all operations, at which waiting threads are woken once this operation is done. */
    int target;
  };
  /**
   * Activations x prepared for a format: by every thread for itself (number), or for all threads, packed or one by one
   * (packs), or packed by experts.
   */
  struct Source {
    std::span<const float> x;
    std::size_t columns;
    Type type;
    Rounding rounding;
    Way way;
    std::size_t number;
    std::span<const std::byte> packs;
    /** The choices by which x is packed; empty: in its own order. */
    std::span<const std::size_t> choices;
  };
  /** Routes whose choices are sorted by experts. */
  struct Grouping {
    std::span<const float> routes;
    ChoiceGroups groups;
  };
  struct Place;

  bool mustWait(const Operation& operation);
  /** Rounding of attention by its number of tokens. */
  [[nodiscard]] Rounding attentionRounding(const CacheView& cache, std::size_t tokens, Way way) const;
  const Source* knownSource(const Source& wanted) const;
  /** The number of x as a source that every thread prepares for itself; its further rows have those that follow. */
  std::size_t sourceOf(const MatrixView& matrix, Rounding rounding, std::span<const float> x);
  /** Prepares x for all threads. */
  std::span<const std::byte> packsOf(const MatrixView& matrix, Rounding rounding, std::span<const float> x);
  std::span<const std::byte> singlesOf(const MatrixView& matrix, Rounding rounding, std::span<const float> x);
  /** Sorts the choices of routes by experts. */
  ChoiceGroups groupsOf(std::span<const float> routes, std::size_t experts);
  /** Prepares x for all threads in the order of its experts. */
  std::span<const std::byte> expertSinglesOf(const ExpertMultiplication& product, Rounding rounding,
                                             const ChoiceGroups& groups);
  std::span<const std::byte> expertPacksOf(const ExpertMultiplication& product, Rounding rounding,
                                           const ChoiceGroups& groups);
  /** The first unit of a thread's share of a step. */
  int beginOf(std::size_t step, std::size_t thread) const;
  /** The next unit of a thread's share, which any thread may take. */
  std::atomic<int>& nextOf(std::size_t step, std::size_t thread);
  void work(std::size_t thread) noexcept;

  const KernelTable& table_;
  /** Threads of the pool that runs the program. */
  std::size_t threads_;
  Rounding rounding_;
  std::vector<Step> steps_;
  std::vector<Range> reads_;
  std::vector<Range> writes_;
  std::vector<Source> sources_;
  std::vector<Grouping> groupings_;
  std::size_t nextSource_ = 1;
  /** Memory that grows; replaced buffers stay until the program has run. */
  using Buffers = std::vector<std::unique_ptr<Buffer>>;
  static std::span<std::byte> memoryOf(Buffers& buffers, std::size_t bytes);
  static void keepLast(Buffers& buffers);
  /** Packs of this program's multiplications, and activations that are prepared one by one. */
  Buffers packs_;
  Buffers singles_;
  /** Choices sorted by experts. */
  Buffers groups_;
  /** Unpacked matrices. */
  Buffers unpacked_;
  int units_ = 0;
  /** For each thread and step: memory that different threads write often is kept apart. */
  std::unique_ptr<std::atomic<int>[]> next_;
  std::size_t nextSize_ = 0;
  /**
   * libstdc++ counts the waiters of an address in one of 16 places, by its lowest bits: at the place of what the pool's
   * threads sleep on between runs, which begins a line of the cache too, every notification would be a system call.
   */
  struct alignas(64) Done {
    int place = 0;
    std::atomic<int> units{0};
  };
  Done done_;
  std::optional<Buffer> scratch_;
  std::size_t scratchStride_ = 0;
};

}  // namespace hearth
