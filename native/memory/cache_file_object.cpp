#include "cache_file_object.hpp"

#include <stdexcept>
#include <utility>

#include "page_worker.hpp"

namespace hearth {
namespace {

/** Shared by the functions that JavaScript has; gone with the last of them, or when it is closed. */
struct OpenFile {
  std::unique_ptr<CacheFile> file;
  std::function<std::shared_ptr<CacheMemory>(std::size_t)> memoryOf;

  CacheFile& get() const {
    if (!file) throw std::logic_error("the file of the KV cache is closed");
    return *file;
  }
};

std::size_t number(const Napi::CallbackInfo& info, std::size_t index) {
  const double value = info[index].As<Napi::Number>().DoubleValue();
  if (!(value >= 0 && value <= 9007199254740991.0)) throw std::invalid_argument("an argument is not a whole number");
  return static_cast<std::size_t>(value);
}

Napi::Value toObject(Napi::Env env, const CacheOutcome& outcome) {
  const Napi::Object object = Napi::Object::New(env);
  object.Set("start", outcome.start);
  object.Set("end", outcome.end);
  object.Set("error", outcome.error);
  return object;
}

}  // namespace

Napi::Value newCacheFile(Napi::Env env, std::unique_ptr<CacheFile> file,
                         std::function<std::shared_ptr<CacheMemory>(std::size_t)> memoryOf) {
  const auto open = std::make_shared<OpenFile>(std::move(file), std::move(memoryOf));
  const Napi::Object object = Napi::Object::New(env);
  const auto method = [&](const char* name, auto body) {
    object.Set(name, Napi::Function::New(env, [open, body](const Napi::CallbackInfo& info) -> Napi::Value {
      return body(*open, info);
    }, name));
  };
  // (whether it is written, cache, place) → job
  method("submit", [](OpenFile& o, const Napi::CallbackInfo& info) -> Napi::Value {
    CacheJob job = {info[0].As<Napi::Boolean>().Value(), o.memoryOf(number(info, 1)), number(info, 2)};
    return Napi::Number::New(info.Env(), static_cast<double>(o.get().submit(std::move(job))));
  });
  // (job) → its outcome, as soon as it is there
  method("wait", [](OpenFile& o, const Napi::CallbackInfo& info) -> Napi::Value {
    return toObject(info.Env(), o.get().wait(number(info, 0)));
  });
  // (job) → its outcome, or undefined where it isn't there yet
  method("poll", [](OpenFile& o, const Napi::CallbackInfo& info) -> Napi::Value {
    const auto outcome = o.get().poll(number(info, 0));
    return outcome ? toObject(info.Env(), *outcome) : info.Env().Undefined();
  });
  // () → seconds on the clock of the outcomes
  method("now", [](OpenFile&, const Napi::CallbackInfo& info) -> Napi::Value {
    return Napi::Number::New(info.Env(), PageWorker::now());
  });
  method("close", [](OpenFile& o, const Napi::CallbackInfo& info) -> Napi::Value {
    o.file.reset();
    return info.Env().Undefined();
  });
  return object;
}

}  // namespace hearth
