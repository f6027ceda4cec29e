#include "engine.hpp"

#include <cstring>
#include <limits>
#include <stdexcept>
#include <utility>

#include "operations/command_reader.hpp"

namespace hearth {
namespace {

/** a·b. Throws if it overflows. */
std::size_t product(std::size_t a, std::size_t b) {
  if (a != 0 && b > std::numeric_limits<std::ptrdiff_t>::max() / a) throw std::length_error("too large");
  return a * b;
}

}  // namespace

Engine::Engine(const KernelTable& table, std::size_t threads, bool pin, Rounding rounding)
    : table_(table), rounding_(rounding), pool_(threads, pin), program_(table, threads, rounding) {}

std::size_t Engine::addMapping(const std::string& path) {
  mappings_.push_back(std::make_shared<FileMapping>(path));
  return mappings_.size() - 1;
}

std::shared_ptr<const FileMapping> Engine::mapping(std::size_t number) const { return mappings_.at(number); }

std::size_t Engine::addMappedMatrix(std::size_t mapping, std::size_t offset, Type type, std::size_t rows,
                                    std::size_t columns) {
  const auto bytes = mappings_.at(mapping)->bytes();
  if (offset > bytes.size()) throw std::out_of_range("the matrix begins beyond the end of the file");
  return addMatrix(bytes.subspan(offset), type, rows, columns);
}

std::size_t Engine::addMatrix(std::span<const std::uint8_t> bytes, Type type, std::size_t rows, std::size_t columns) {
  if (rows == 0 || columns == 0 || columns % formatOf(type).block != 0) {
    throw std::invalid_argument("a matrix needs rows, and columns in whole blocks");
  }
  if (product(rows, rowBytes(type, columns)) > bytes.size()) {
    throw std::out_of_range("the matrix reaches beyond the end of its bytes");
  }
  operands_.matrices.push_back({bytes.data(), type, rows, columns});
  return operands_.matrices.size() - 1;
}

std::size_t Engine::addVector(std::size_t length) {
  operands_.vectors.push_back(std::make_shared<Buffer>(product(length, sizeof(float))));
  // Touched now, so that the first operation that writes to it doesn't wait for pages.
  std::memset(operands_.vectors.back()->data(), 0, operands_.vectors.back()->size());
  return operands_.vectors.size() - 1;
}

std::size_t Engine::addVector(std::span<float> memory) {
  operands_.vectors.push_back(std::make_shared<Buffer>(std::as_writable_bytes(memory)));
  return operands_.vectors.size() - 1;
}

std::shared_ptr<Buffer> Engine::vector(std::size_t number) const { return operands_.vectors.at(number); }

std::span<float> Engine::slice(std::size_t number, std::size_t offset, std::size_t length) const {
  const Buffer& buffer = *operands_.vectors.at(number);
  const std::size_t size = buffer.size() / sizeof(float);
  if (offset > size || length > size - offset) throw std::out_of_range("a slice reaches beyond its vector");
  return {reinterpret_cast<float*>(operands_.vectors[number]->data()) + offset, length};
}

std::size_t Engine::addCache(Type type, std::size_t kvHeads, std::size_t capacity, std::size_t headSize) {
  if (!isCacheType(type)) throw std::invalid_argument("a cache holds F32, F16, Q8_0 or Q4_0");
  if (headSize % formatOf(type).block != 0) throw std::invalid_argument("heads of a quantized cache are whole blocks");
  if (kvHeads == 0 || capacity == 0 || headSize == 0) throw std::invalid_argument("a cache can't be empty");
  if (capacity > std::numeric_limits<std::ptrdiff_t>::max() / 2) throw std::length_error("too large");
  const std::size_t whole = (capacity + positionBlock - 1) / positionBlock * positionBlock;
  const std::size_t bytes = product(product(product(kvHeads, whole), headSize), formatOf(type).bytes) / formatOf(type).block;
  auto memory = std::make_shared<CacheMemory>(bytes);
  const CacheView view = {reinterpret_cast<std::uint8_t*>(memory->keys.data()),
                          reinterpret_cast<std::uint8_t*>(memory->values.data()), type, kvHeads, whole, headSize};
  operands_.caches.push_back(std::make_unique<Cache>(std::move(memory), view));
  return operands_.caches.size() - 1;
}

std::shared_ptr<CacheMemory> Engine::cacheMemory(std::size_t cache) const {
  const auto& found = operands_.caches.at(cache);
  if (!found) throw std::invalid_argument("the cache was freed");
  return found->memory;
}

void Engine::copyCache(std::size_t from, std::size_t to) {
  const auto [source, target] = std::pair(cacheMemory(from), cacheMemory(to));
  if (source->keys.size() != target->keys.size()) throw std::invalid_argument("caches of different sizes");
  std::memcpy(target->keys.data(), source->keys.data(), source->keys.size());
  std::memcpy(target->values.data(), source->values.data(), source->values.size());
}

void Engine::freeCache(std::size_t cache) {
  auto& freed = operands_.caches.at(cache);
  if (!freed) return;
  for (auto& program : prepared_) {
    if (program && program->uses(freed->view)) program.reset();
  }
  freed.reset();
}

std::size_t Engine::prepare(std::span<const double> commands) {
  const auto programFor = [this, commands](std::size_t threads) {
    auto program = std::make_unique<Program>(table_, threads, rounding_);
    CommandReader reader(operands_, commands);
    while (!reader.atEnd()) reader.read(*program);
    return program;
  };
  auto program = programFor(1);
  if (program->isSmall()) {
    program->unpack();
  } else {
    program = programFor(pool_.size());
  }
  prepared_.push_back(std::move(program));
  return prepared_.size() - 1;
}

Program& Engine::prepared(std::size_t number) {
  if (number >= prepared_.size() || !prepared_[number]) throw std::invalid_argument("there is no such program");
  return *prepared_[number];
}

void Engine::runPrepared(std::size_t number, std::span<const std::size_t> tokens, std::size_t position) {
  Program& program = prepared(number);
  program.place(tokens, position);
  run(program);
  checkMappings();
}

std::size_t Engine::writeGreedily(std::size_t number, const GreedyText& text, std::vector<std::size_t>& written) {
  Program& program = prepared(number);
  const auto pass = [this, &program](std::size_t token, std::size_t position) {
    program.place({&token, 1}, position);
    run(program);
  };
  const std::size_t passes = hearth::writeGreedily(text, pass, written);
  checkMappings();
  return passes;
}

void Engine::run(std::span<const double> commands) {
  program_.clear();
  CommandReader reader(operands_, commands);
  while (!reader.atEnd()) reader.read(program_);
  program_.run(pool_);
  checkMappings();
}

void Engine::checkMappings() const {
  for (std::size_t number = 0; number < mappings_.size(); number++) {
    try {
      mappings_[number]->check();
    } catch (const FileFault& fault) {
      throw FileFault("mapped file " + std::to_string(number) + " " + fault.what());
    }
  }
}

}  // namespace hearth
