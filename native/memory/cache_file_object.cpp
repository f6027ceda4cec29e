#include "cache_file_object.hpp"

#include <stdexcept>
#include <utility>

#include "../arguments.hpp"

namespace hearth {
namespace {

/** Shared by the functions that JavaScript holds. */
struct OpenFile {
  std::unique_ptr<CacheFile> file;
  std::function<std::shared_ptr<CacheMemory>(std::size_t)> memoryOf;

  CacheFile& get() const {
    if (!file) throw std::logic_error("the file of the KV cache is closed");
    return *file;
  }
};

Napi::Value toObject(Napi::Env env, const JobOutcome& outcome) {
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
    CacheJob job = {info[0].As<Napi::Boolean>().Value(), o.memoryOf(wholeNumber(info, 1)), wholeNumber(info, 2)};
    return Napi::Number::New(info.Env(), static_cast<double>(o.get().submit(std::move(job))));
  });
  // (job) → its outcome; blocks until it has ended
  method("wait", [](OpenFile& o, const Napi::CallbackInfo& info) -> Napi::Value {
    return toObject(info.Env(), o.get().wait(wholeNumber(info, 0)));
  });
  // (job) → its outcome, or undefined while it hasn't ended
  method("poll", [](OpenFile& o, const Napi::CallbackInfo& info) -> Napi::Value {
    const auto outcome = o.get().poll(wholeNumber(info, 0));
    return outcome ? toObject(info.Env(), *outcome) : info.Env().Undefined();
  });
  // () → seconds on the clock of the outcomes
  method("now", [](OpenFile&, const Napi::CallbackInfo& info) -> Napi::Value {
    return Napi::Number::New(info.Env(), secondsNow());
  });
  method("close", [](OpenFile& o, const Napi::CallbackInfo& info) -> Napi::Value {
    o.file.reset();
    return info.Env().Undefined();
  });
  return object;
}

}  // namespace hearth
