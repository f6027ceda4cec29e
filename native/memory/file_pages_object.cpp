#include "file_pages_object.hpp"

#include <stdexcept>
#include <utility>
#include <vector>

#include "../arguments.hpp"
#include "page_worker.hpp"

namespace hearth {
namespace {

/** The class of an environment; each worker thread of Node has its own environment. */
struct Constructors {
  Napi::FunctionReference filePages;
};

class FilePagesObject : public Napi::ObjectWrap<FilePagesObject> {
 public:
  static Napi::Function define(Napi::Env env) {
    return DefineClass(env, "FilePages",
                       {InstanceMethod<&FilePagesObject::resident>("resident"),
                        InstanceMethod<&FilePagesObject::random>("random"),
                        InstanceMethod<&FilePagesObject::submit>("submit"),
                        InstanceMethod<&FilePagesObject::buffer>("buffer"),
                        InstanceMethod<&FilePagesObject::shareBuffers>("shareBuffers"),
                        InstanceMethod<&FilePagesObject::read>("read"),
                        InstanceMethod<&FilePagesObject::wait>("wait"),
                        InstanceMethod<&FilePagesObject::poll>("poll"),
                        InstanceMethod<&FilePagesObject::whenDone>("whenDone"),
                        InstanceMethod<&FilePagesObject::cancel>("cancel"),
                        InstanceMethod<&FilePagesObject::readBytes>("readBytes"),
                        InstanceMethod<&FilePagesObject::now>("now"),
                        InstanceMethod<&FilePagesObject::close>("close")});
  }

  /** (mapping, as an external value, which only newFilePages can pass; threads; whether reads go past the page cache) */
  explicit FilePagesObject(const Napi::CallbackInfo& info) : Napi::ObjectWrap<FilePagesObject>(info) {
    if (!info[0].IsExternal()) throw std::invalid_argument("FilePages are made by an engine");
    const auto mapping = info[0].As<Napi::External<std::shared_ptr<const FileMapping>>>();
    worker_ = std::make_unique<PageWorker>(
        *mapping.Data(), PageWorkerOptions{.threads = wholeNumber(info, 1),
                                           .way = info[2].ToBoolean() ? ReadWay::Direct : ReadWay::Cached});
  }

 private:
  using Buffers = std::vector<std::shared_ptr<Buffer>>;

  PageWorker& worker() {
    if (!worker_) throw std::logic_error("the pages are closed");
    return *worker_;
  }

  /** (from, to) → bytes */
  Napi::Value resident(const Napi::CallbackInfo& info) {
    return toNumber(info, residentBytes(worker().mapping(), {wholeNumber(info, 0), wholeNumber(info, 1)}));
  }

  /** (whether page faults read only the missing page) */
  void random(const Napi::CallbackInfo& info) {
    adviseRandom(worker().mapping(), info[0].As<Napi::Boolean>().Value());
  }

  /** (kind, from, to, look-back) → job */
  Napi::Value submit(const Napi::CallbackInfo& info) {
    const std::size_t kind = wholeNumber(info, 0);
    if (kind >= static_cast<std::size_t>(PageJobKind::Read)) throw std::invalid_argument("there is no such job");
    return toNumber(info, worker().submit({.kind = static_cast<PageJobKind>(kind),
                                           .range = {wholeNumber(info, 1), wholeNumber(info, 2)},
                                           .lookBack = wholeNumber(info, 3)}));
  }

  /** (bytes) → [buffer, its bytes as an ArrayBuffer] */
  Napi::Value buffer(const Napi::CallbackInfo& info) {
    const std::size_t bytes = wholeNumber(info, 0);
    auto owner = std::make_unique<std::shared_ptr<Buffer>>(std::make_shared<Buffer>(bytes));
    buffers_->push_back(*owner);
    // The array keeps the memory alive, even after the pages are closed.
    const auto array = Napi::ArrayBuffer::New(
        info.Env(), (*owner)->data(), bytes, [](Napi::Env, void*, std::shared_ptr<Buffer>* shared) { delete shared; },
        owner.get());
    static_cast<void>(owner.release());
    const Napi::Array result = Napi::Array::New(info.Env(), 2);
    result.Set(0u, toNumber(info, buffers_->size() - 1));
    result.Set(1u, array);
    return result;
  }

  /** (pages of another file): has the buffers of those, for files that are parts of one. */
  void shareBuffers(const Napi::CallbackInfo& info) { buffers_ = Unwrap(info[0].As<Napi::Object>())->buffers_; }

  /** (from, to, then buffer, offset, bytes of each target) → job */
  Napi::Value read(const Napi::CallbackInfo& info) {
    std::vector<ReadTarget> targets;
    for (std::size_t at = 2; at + 2 < info.Length(); at += 3) {
      targets.push_back({buffers_->at(wholeNumber(info, at)), wholeNumber(info, at + 1), wholeNumber(info, at + 2)});
    }
    return toNumber(info, worker().submit({.kind = PageJobKind::Read,
                                           .range = {wholeNumber(info, 0), wholeNumber(info, 1)},
                                           .targets = std::move(targets)}));
  }

  /** (job) → its outcome; blocks until it has ended */
  Napi::Value wait(const Napi::CallbackInfo& info) { return toObject(info.Env(), worker().wait(wholeNumber(info, 0))); }

  /** (job) → its outcome, or undefined while it hasn't ended */
  Napi::Value poll(const Napi::CallbackInfo& info) {
    const auto outcome = worker().poll(wholeNumber(info, 0));
    return outcome ? toObject(info.Env(), *outcome) : info.Env().Undefined();
  }

  /** (job, callback): calls back, in a turn of its own, once the job has an outcome or the pages are closed. */
  void whenDone(const Napi::CallbackInfo& info) {
    PageWorker& pages = worker();
    const std::size_t job = wholeNumber(info, 0);
    const auto call = Napi::ThreadSafeFunction::New(info.Env(), info[1].As<Napi::Function>(), "hearth pages", 0, 1);
    pages.whenDone(job, [call]() mutable {
      // An environment that is ending has released the function already.
      if (call.NonBlockingCall() != napi_closing) call.Release();
    });
  }

  void cancel(const Napi::CallbackInfo& info) { worker().cancel(wholeNumber(info, 0)); }

  /** () → bytes that the threads have caused to be read from disk, or undefined */
  Napi::Value readBytes(const Napi::CallbackInfo& info) {
    const auto bytes = worker().readBytes();
    return bytes ? toNumber(info, *bytes) : info.Env().Undefined();
  }

  /** () → seconds on the clock of the outcomes */
  Napi::Value now(const Napi::CallbackInfo& info) { return Napi::Number::New(info.Env(), secondsNow()); }

  void close(const Napi::CallbackInfo&) {
    worker_.reset();
    // Arrays hold the buffers until they are collected, and the collector doesn't know how much memory that is.
    for (const auto& buffer : *buffers_) buffer->discard();
    buffers_ = std::make_shared<Buffers>();
  }

  static Napi::Value toObject(Napi::Env env, const PageOutcome& outcome) {
    const Napi::Object object = Napi::Object::New(env);
    object.Set("start", outcome.start);
    object.Set("end", outcome.end);
    object.Set("bytes", static_cast<double>(outcome.bytes));
    object.Set("cancelled", outcome.cancelled);
    object.Set("refused", outcome.refused);
    object.Set("error", outcome.error);
    return object;
  }

  std::unique_ptr<PageWorker> worker_;
  std::shared_ptr<Buffers> buffers_ = std::make_shared<Buffers>();
};

}  // namespace

void defineFilePages(Napi::Env env) {
  auto constructors = std::make_unique<Constructors>();
  constructors->filePages = Napi::Persistent(FilePagesObject::define(env));
  env.SetInstanceData(constructors.release());
}

Napi::Value newFilePages(Napi::Env env, std::shared_ptr<const FileMapping> mapping, PageWorkerOptions options) {
  const auto external = Napi::External<std::shared_ptr<const FileMapping>>::New(env, &mapping);
  return env.GetInstanceData<Constructors>()->filePages.New(
      {external, Napi::Number::New(env, static_cast<double>(options.threads)),
       Napi::Boolean::New(env, options.way == ReadWay::Direct)});
}

}  // namespace hearth
