#pragma once
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kernels/table.hpp"
#include "memory/file_mapping.hpp"
#include "operations/greedy_text.hpp"
#include "operations/operands.hpp"
#include "operations/program.hpp"
#include "threads/thread_pool.hpp"

namespace hearth {

/**
 * Owns threads, mapped files, matrices, float vectors and KV caches, each known by its number. Everything lives as long
 * as the engine; the memory of vectors lives longer if JavaScript still uses it.
 */
class Engine {
 public:
  /** @param rounding of products that gain from it */
  Engine(const KernelTable& table, std::size_t threads, bool pin, Rounding rounding);

  std::size_t addMapping(const std::string& path);
  [[nodiscard]] std::shared_ptr<const FileMapping> mapping(std::size_t number) const;
  /** A matrix whose bytes are in a mapping. Throws if they reach beyond its end. */
  std::size_t addMappedMatrix(std::size_t mapping, std::size_t offset, Type type, std::size_t rows,
                              std::size_t columns);
  /** A matrix whose bytes the caller keeps in place while the engine lives. */
  std::size_t addMatrix(std::span<const std::uint8_t> bytes, Type type, std::size_t rows, std::size_t columns);
  std::size_t addVector(std::size_t length);
  /** A vector over memory that the caller keeps in place while the engine lives. */
  std::size_t addVector(std::span<float> memory);
  [[nodiscard]] std::shared_ptr<Buffer> vector(std::size_t number) const;
  std::size_t addCache(Type type, std::size_t kvHeads, std::size_t capacity, std::size_t headSize);
  /** A cache's memory, which lives as long as the pointer. */
  [[nodiscard]] std::shared_ptr<CacheMemory> cacheMemory(std::size_t cache) const;
  /** Copies a cache to another of the same shape. */
  void copyCache(std::size_t from, std::size_t to);
  /** Frees the cache's memory; its number isn't reused. */
  void freeCache(std::size_t cache);

  /**
   * Runs commands encoded as engine/kernels/native/commands.ts does. Throws, before running any, if one is invalid; and
   * afterwards a FileFault if a mapped file couldn't be read: the results are then worthless.
   */
  void run(std::span<const double> commands);

  /**
   * Keeps commands as a program that runs again and again. Throws if one is invalid. A cache that is freed takes the
   * programs that use it with it.
   * @returns its number
   */
  std::size_t prepare(std::span<const double> commands);
  /**
   * Runs a prepared program on these tokens from this position on (Program::place). Throws as `run` does, and
   * std::invalid_argument if there is no such program.
   */
  void runPrepared(std::size_t program, std::span<const std::size_t> tokens, std::size_t position);
  /**
   * Runs a prepared program of one token again and again, each time on the likeliest token after the last. Throws as
   * `runPrepared` does.
   * @returns the number of passes
   */
  std::size_t writeGreedily(std::size_t program, const GreedyText& text, std::vector<std::size_t>& written);
  /** A slice of a vector. Throws if it reaches beyond its end. */
  [[nodiscard]] std::span<float> slice(std::size_t vector, std::size_t offset, std::size_t length) const;

  [[nodiscard]] const KernelTable& table() const { return table_; }
  [[nodiscard]] ThreadPool& pool() { return pool_; }

 private:
  void checkMappings() const;
  Program& prepared(std::size_t number);
  void run(Program& program) { program.run(program.threads() == 1 ? alone_ : pool_); }

  const KernelTable& table_;
  Rounding rounding_;
  ThreadPool pool_;
  /** The caller's thread, for small programs. */
  ThreadPool alone_{1, false};
  Program program_;
  /** Null where a cache of the program was freed. */
  std::vector<std::unique_ptr<Program>> prepared_;
  std::vector<std::shared_ptr<const FileMapping>> mappings_;
  Operands operands_;
};

}  // namespace hearth
