#include <napi.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "arguments.hpp"
#include "engine.hpp"
#include "kernels/select.hpp"
#include "memory/cache_file_object.hpp"
#include "memory/file_pages_object.hpp"
#include "memory/page_worker.hpp"
#include "operations/commands.hpp"
#include "probes/disk.hpp"
#include "probes/limits.hpp"
#include "streams/standard_error.hpp"
#include "threads/loop_watch_object.hpp"

/**
 * The addon's exports. Arguments come from engine/kernels/native, which has checked them and explains mistakes; here
 * they are checked again, for memory safety. Every C++ exception becomes a JavaScript error.
 */
namespace {

using hearth::toNumber;
using hearth::wholeNumber;

/** A format by its number in a GGUF file. */
hearth::Type typeArgument(const Napi::CallbackInfo& info, std::size_t index) {
  const std::size_t number = wholeNumber(info, index);
  for (std::size_t type = 0; type < hearth::typeCount; type++) {
    if (hearth::formats[type].ggmlType == number) return static_cast<hearth::Type>(type);
  }
  throw std::invalid_argument("there is no such format");
}

class EngineObject : public Napi::ObjectWrap<EngineObject> {
 public:
  static Napi::Function define(Napi::Env env) {
    return DefineClass(env, "Engine",
                       {InstanceMethod<&EngineObject::mapFile>("mapFile"),
                        InstanceMethod<&EngineObject::pages>("pages"),
                        InstanceMethod<&EngineObject::mappedMatrix>("mappedMatrix"),
                        InstanceMethod<&EngineObject::matrix>("matrix"),
                        InstanceMethod<&EngineObject::vector>("vector"),
                        InstanceMethod<&EngineObject::sharedVector>("sharedVector"),
                        InstanceMethod<&EngineObject::cache>("cache"),
                        InstanceMethod<&EngineObject::copyCache>("copyCache"),
                        InstanceMethod<&EngineObject::freeCache>("freeCache"),
                        InstanceMethod<&EngineObject::cacheFile>("cacheFile"), InstanceMethod<&EngineObject::run>("run"),
                        InstanceMethod<&EngineObject::prepare>("prepare"),
                        InstanceMethod<&EngineObject::runPrepared>("runPrepared"),
                        InstanceMethod<&EngineObject::writeGreedily>("writeGreedily"),
                        InstanceMethod<&EngineObject::readBandwidth>("readBandwidth"),
                        InstanceMethod<&EngineObject::peaks>("peaks"),
                        InstanceMethod<&EngineObject::close>("close"),
                        InstanceAccessor<&EngineObject::instructionSet>("instructionSet")});
  }

  /** (instruction set or "auto", threads, pin, exact, fast; see KernelOptions) */
  explicit EngineObject(const Napi::CallbackInfo& info) : Napi::ObjectWrap<EngineObject>(info) {
    const hearth::KernelTable& table = hearth::selectTable(info[0].As<Napi::String>().Utf8Value());
    const std::size_t threads = wholeNumber(info, 1);
    if (threads < 1 || threads > 1024) throw std::invalid_argument("threads must be 1 to 1024");
    const bool exact = info[3].As<Napi::Boolean>().Value();
    const bool fast = info[4].ToBoolean().Value();
    const hearth::Rounding rounding = exact  ? hearth::Rounding::word
                                      : fast ? hearth::Rounding::bf16
                                             : hearth::Rounding::byte;
    engine_ = std::make_shared<hearth::Engine>(table, threads, info[2].As<Napi::Boolean>().Value(), rounding);
  }

 private:
  hearth::Engine& engine() {
    if (!engine_) throw std::logic_error("the engine is closed");
    return *engine_;
  }

  static std::span<const double> commands(const Napi::CallbackInfo& info) {
    const auto commands = info[0].As<Napi::Float64Array>();
    const std::size_t count = wholeNumber(info, 1);
    if (!commands.IsTypedArray() || count > commands.ElementLength()) {
      throw std::invalid_argument("more commands than the array holds");
    }
    return {commands.Data(), count};
  }

  void checkHeld() const {
    for (const auto& buffer : held_) {
      if (buffer.Value().IsDetached()) throw std::logic_error("the bytes of a matrix were transferred away");
    }
  }

  /** (path) → [mapping, bytes] */
  Napi::Value mapFile(const Napi::CallbackInfo& info) {
    const std::size_t mapping = engine().addMapping(info[0].As<Napi::String>().Utf8Value());
    const Napi::Array result = Napi::Array::New(info.Env(), 2);
    result.Set(0u, toNumber(info, mapping));
    result.Set(1u, toNumber(info, engine().mapping(mapping)->bytes().size()));
    return result;
  }

  /** (mapping, threads, whether reads go past the page cache) → its FilePages, which keep the mapping alive */
  Napi::Value pages(const Napi::CallbackInfo& info) {
    const hearth::ReadWay way = info[2].ToBoolean() ? hearth::ReadWay::Direct : hearth::ReadWay::Cached;
    return hearth::newFilePages(info.Env(), engine().mapping(wholeNumber(info, 0)), {wholeNumber(info, 1), way});
  }

  /** (mapping, offset, format, rows, columns) → matrix */
  Napi::Value mappedMatrix(const Napi::CallbackInfo& info) {
    return toNumber(info, engine().addMappedMatrix(wholeNumber(info, 0), wholeNumber(info, 1), typeArgument(info, 2),
                                                   wholeNumber(info, 3), wholeNumber(info, 4)));
  }

  /** (bytes, format, rows, columns) → matrix; the bytes are used in place and must not be transferred. */
  Napi::Value matrix(const Napi::CallbackInfo& info) {
    const auto bytes = info[0].As<Napi::Uint8Array>();
    if (!bytes.IsTypedArray() || !bytes.ArrayBuffer().IsArrayBuffer()) {
      throw std::invalid_argument("a matrix needs bytes of an ArrayBuffer");
    }
    const std::size_t number = engine().addMatrix({bytes.Data(), bytes.ByteLength()}, typeArgument(info, 1),
                                                  wholeNumber(info, 2), wholeNumber(info, 3));
    // Matrices often share one buffer, which is held and checked only once.
    if (held_.empty() || !held_.back().Value().StrictEquals(bytes.ArrayBuffer())) {
      held_.push_back(Napi::Reference<Napi::ArrayBuffer>::New(bytes.ArrayBuffer(), 1));
    }
    return toNumber(info, number);
  }

  /** (length) → [vector, its Float32Array] */
  Napi::Value vector(const Napi::CallbackInfo& info) {
    const std::size_t length = wholeNumber(info, 0);
    const std::size_t number = engine().addVector(length);
    auto owner = std::make_unique<std::shared_ptr<hearth::Buffer>>(engine().vector(number));
    std::byte* data = (*owner)->data();
    // The array keeps the memory alive, even after the engine is closed.
    const auto buffer = Napi::ArrayBuffer::New(
        info.Env(), data, length * sizeof(float),
        [](Napi::Env, void*, std::shared_ptr<hearth::Buffer>* shared) { delete shared; }, owner.get());
    static_cast<void>(owner.release());
    const Napi::Array result = Napi::Array::New(info.Env(), 2);
    result.Set(0u, toNumber(info, number));
    result.Set(1u, Napi::Float32Array::New(info.Env(), length, buffer, 0));
    return result;
  }

  /** (a Float32Array over a SharedArrayBuffer, which is never moved) → vector */
  Napi::Value sharedVector(const Napi::CallbackInfo& info) {
    if (!info[0].IsTypedArray() || info[0].As<Napi::TypedArray>().TypedArrayType() != napi_float32_array) {
      throw std::invalid_argument("a vector is made over a Float32Array");
    }
    auto values = info[0].As<Napi::Float32Array>();
    const std::size_t number = engine().addVector(std::span<float>(values.Data(), values.ElementLength()));
    shared_.push_back(Napi::Reference<Napi::Float32Array>::New(values, 1));
    return toNumber(info, number);
  }

  /** (format, kvHeads, capacity, headSize) → cache */
  Napi::Value cache(const Napi::CallbackInfo& info) {
    return toNumber(info, engine().addCache(typeArgument(info, 0), wholeNumber(info, 1), wholeNumber(info, 2),
                                            wholeNumber(info, 3)));
  }

  /** (from, to), caches of the same shape */
  void copyCache(const Napi::CallbackInfo& info) { engine().copyCache(wholeNumber(info, 0), wholeNumber(info, 1)); }

  /** (cache) */
  void freeCache(const Napi::CallbackInfo& info) { engine().freeCache(wholeNumber(info, 0)); }

  /** (folder, a cache of the shape that all caches in the file have) → a CacheFile */
  Napi::Value cacheFile(const Napi::CallbackInfo& info) {
    const std::string folder = info[0].As<Napi::String>().Utf8Value();
    const std::size_t bytes = engine().cacheMemory(wholeNumber(info, 1))->keys.size();
    const auto memoryOf = [weak = std::weak_ptr(engine_)](std::size_t cache) {
      const auto engine = weak.lock();
      if (!engine) throw std::logic_error("the engine is closed");
      return engine->cacheMemory(cache);
    };
    return hearth::newCacheFile(info.Env(), std::make_unique<hearth::CacheFile>(folder, bytes), memoryOf);
  }

  /** (commands, how many of their numbers are used) */
  void run(const Napi::CallbackInfo& info) {
    checkHeld();
    engine().run(commands(info));
  }

  /** (commands, how many of their numbers are used) → program */
  Napi::Value prepare(const Napi::CallbackInfo& info) { return toNumber(info, engine().prepare(commands(info))); }

  /** (program, [position, token, token, …], how many of these numbers are used) */
  void runPrepared(const Napi::CallbackInfo& info) {
    const auto place = info[1].As<Napi::Float64Array>();
    const std::size_t count = wholeNumber(info, 2);
    if (!place.IsTypedArray() || count == 0 || count > place.ElementLength()) {
      throw std::invalid_argument("a program runs on a position and tokens");
    }
    checkHeld();
    placed_.clear();
    for (std::size_t index = 0; index < count; index++) placed_.push_back(hearth::wholeNumber(place[index]));
    engine().runPrepared(wholeNumber(info, 0), std::span(placed_).subspan(1), placed_[0]);
  }

  /**
   * (program, numbers, how many are used, angles of each pass) → [passes, token, token, …]; the numbers are: where a pass
   * finds its angles: vector, offset, length; its logits: the same; the least lead, the most tokens, position, how many
   * tokens are known, each of them, and then the tokens that end the text
   */
  Napi::Value writeGreedily(const Napi::CallbackInfo& info) {
    constexpr std::size_t head = 10;
    const auto numbers = info[1].As<Napi::Float64Array>();
    const std::size_t count = wholeNumber(info, 2);
    const auto angles = info[3].As<Napi::Float32Array>();
    if (!numbers.IsTypedArray() || !angles.IsTypedArray() || count < head || count > numbers.ElementLength()) {
      throw std::invalid_argument("a text needs a place, and angles");
    }
    checkHeld();
    const auto whole = [&numbers](std::size_t index) { return hearth::wholeNumber(numbers[index]); };
    const auto slice = [this, &whole](std::size_t at) { return engine().slice(whole(at), whole(at + 1), whole(at + 2)); };
    placed_.clear();
    for (std::size_t index = head; index < count; index++) placed_.push_back(whole(index));
    const std::size_t known = whole(9);
    if (known > placed_.size()) throw std::invalid_argument("fewer tokens than are said to be known");
    const std::span tokens(placed_);
    const hearth::GreedyText text{tokens.first(known),
                                  whole(8),
                                  whole(7),
                                  static_cast<float>(numbers[6]),
                                  tokens.subspan(known),
                                  {angles.Data(), angles.ElementLength()},
                                  slice(0),
                                  slice(3)};
    written_.clear();
    const std::size_t passes = engine().writeGreedily(wholeNumber(info, 0), text, written_);
    const Napi::Array result = Napi::Array::New(info.Env(), 1 + written_.size());
    result.Set(0u, toNumber(info, passes));
    for (std::size_t i = 0; i < written_.size(); i++) result.Set(static_cast<std::uint32_t>(i + 1), toNumber(info, written_[i]));
    return result;
  }

  /** (vector, first byte, bytes) → bytes per second at which they are read once */
  Napi::Value readBandwidth(const Napi::CallbackInfo& info) {
    const auto buffer = engine().vector(wholeNumber(info, 0));
    const std::size_t begin = wholeNumber(info, 1);
    const std::size_t bytes = wholeNumber(info, 2);
    if (begin > buffer->size() || bytes > buffer->size() - begin) throw std::out_of_range("beyond the vector");
    return Napi::Number::New(info.Env(), hearth::readBandwidth(engine().pool(), engine().table(),
                                                               buffer->data() + begin, bytes));
  }

  /** () → [single precision, bytes] operations per second */
  Napi::Value peaks(const Napi::CallbackInfo& info) {
    const Napi::Array result = Napi::Array::New(info.Env(), 2);
    result.Set(0u, Napi::Number::New(info.Env(), hearth::floatPeak(engine().pool(), engine().table())));
    result.Set(1u, Napi::Number::New(info.Env(), hearth::bytePeak(engine().pool(), engine().table())));
    return result;
  }

  void close(const Napi::CallbackInfo&) {
    engine_.reset();
    held_.clear();
    shared_.clear();
  }

  Napi::Value instructionSet(const Napi::CallbackInfo& info) {
    return Napi::String::New(info.Env(), engine().table().name);
  }

  std::shared_ptr<hearth::Engine> engine_;
  std::vector<Napi::Reference<Napi::ArrayBuffer>> held_;
  std::vector<Napi::Reference<Napi::Float32Array>> shared_;
  /** Buffers of the last `runPrepared` or `writeGreedily`; kept so that none allocates. */
  std::vector<std::size_t> placed_;
  std::vector<std::size_t> written_;
};

Napi::Value instructionSets(const Napi::CallbackInfo& info) {
  const auto tables = hearth::availableTables();
  const Napi::Array names = Napi::Array::New(info.Env(), tables.size());
  for (std::uint32_t i = 0; i < tables.size(); i++) names.Set(i, Napi::String::New(info.Env(), tables[i]->name));
  return names;
}

/** () → a row for each format: name, number in a GGUF file, weights and bytes per block, whether it has a minimum */
Napi::Value formatTable(const Napi::CallbackInfo& info) {
  const Napi::Array rows = Napi::Array::New(info.Env(), hearth::typeCount);
  for (std::uint32_t i = 0; i < hearth::typeCount; i++) {
    const hearth::Format& format = hearth::formats[i];
    const Napi::Object row = Napi::Object::New(info.Env());
    row.Set("name", format.name);
    row.Set("ggmlType", toNumber(info, format.ggmlType));
    row.Set("block", toNumber(info, format.block));
    row.Set("bytes", toNumber(info, format.bytes));
    row.Set("hasMinimum", format.hasMinimum);
    rows.Set(i, row);
  }
  return rows;
}

/** () → name and operands of each command, in the order of their codes */
Napi::Value commandList(const Napi::CallbackInfo& info) {
  const Napi::Array rows = Napi::Array::New(info.Env(), hearth::commandCount);
  for (std::uint32_t i = 0; i < hearth::commandCount; i++) {
    const Napi::Object row = Napi::Object::New(info.Env());
    row.Set("name", hearth::commands[i].name);
    row.Set("operands", hearth::commands[i].operands);
    rows.Set(i, row);
  }
  return rows;
}

/** () → names of the jobs on pages, in the order of their codes */
Napi::Value pageJobList(const Napi::CallbackInfo& info) {
  const Napi::Array names = Napi::Array::New(info.Env(), hearth::pageJobCount);
  for (std::uint32_t i = 0; i < hearth::pageJobCount; i++) names.Set(i, hearth::pageJobNames[i]);
  return names;
}

/** (path) → share of the file that stays in memory */
Napi::Value dropFromMemory(const Napi::CallbackInfo& info) {
  return Napi::Number::New(info.Env(), hearth::dropFromMemory(info[0].As<Napi::String>().Utf8Value()));
}

/** (path, first byte, bytes) → seconds */
Napi::Value readInOrder(const Napi::CallbackInfo& info) {
  const std::string path = info[0].As<Napi::String>().Utf8Value();
  return Napi::Number::New(info.Env(), hearth::readInOrder(path, wholeNumber(info, 1), wholeNumber(info, 2)));
}

/** (path, pages, seed) → seconds */
Napi::Value faultPages(const Napi::CallbackInfo& info) {
  const std::string path = info[0].As<Napi::String>().Utf8Value();
  return Napi::Number::New(info.Env(), hearth::faultPages(path, wholeNumber(info, 1), wholeNumber(info, 2)));
}

/** (path of the file that takes it) → descriptor of stderr as it was */
Napi::Value divertStandardError(const Napi::CallbackInfo& info) {
  return Napi::Number::New(info.Env(), hearth::divertStandardError(info[0].As<Napi::String>().Utf8Value()));
}

/** (what divertStandardError returned) */
Napi::Value restoreStandardError(const Napi::CallbackInfo& info) {
  hearth::restoreStandardError(static_cast<int>(wholeNumber(info, 0)));
  return info.Env().Undefined();
}

Napi::Object initialize(Napi::Env env, Napi::Object exports) {
  hearth::defineFilePages(env);
  exports.Set("Engine", EngineObject::define(env));
  exports.Set("LoopWatch", hearth::defineLoopWatch(env));
  exports.Set("dropFromMemory", Napi::Function::New<dropFromMemory>(env, "dropFromMemory"));
  exports.Set("readInOrder", Napi::Function::New<readInOrder>(env, "readInOrder"));
  exports.Set("divertStandardError", Napi::Function::New<divertStandardError>(env, "divertStandardError"));
  exports.Set("restoreStandardError", Napi::Function::New<restoreStandardError>(env, "restoreStandardError"));
  exports.Set("faultPages", Napi::Function::New<faultPages>(env, "faultPages"));
  exports.Set("formats", Napi::Function::New<formatTable>(env, "formats"));
  exports.Set("commands", Napi::Function::New<commandList>(env, "commands"));
  exports.Set("pageJobs", Napi::Function::New<pageJobList>(env, "pageJobs"));
  exports.Set("instructionSets", Napi::Function::New<instructionSets>(env, "instructionSets"));
  return exports;
}

}  // namespace

NODE_API_MODULE(hearth, initialize)
