#include "loop_watch_object.hpp"

#include <unistd.h>

#include <memory>
#include <stdexcept>
#include <string>

#include "loop_watch.hpp"

namespace hearth {
namespace {

class LoopWatchObject : public Napi::ObjectWrap<LoopWatchObject> {
 public:
  static Napi::Function define(Napi::Env env) {
    return DefineClass(env, "LoopWatch",
                       {InstanceMethod<&LoopWatchObject::turn>("turn"),
                        InstanceMethod<&LoopWatchObject::close>("close")});
  }

  /** (seconds, the line that is written to stderr when nothing has moved for so long) */
  explicit LoopWatchObject(const Napi::CallbackInfo& info) : Napi::ObjectWrap<LoopWatchObject>(info) {
    const double seconds = info[0].As<Napi::Number>().DoubleValue();
    if (!(seconds > 0)) throw std::invalid_argument("the time must be positive");
    watch_ = std::make_unique<LoopWatch>(seconds, [line = info[1].As<Napi::String>().Utf8Value() + "\n"] {
      static_cast<void>(!write(STDERR_FILENO, line.data(), line.size()));
      cutConnections();
    });
  }

 private:
  void turn(const Napi::CallbackInfo&) {
    if (watch_) watch_->turn();
  }

  void close(const Napi::CallbackInfo&) { watch_.reset(); }

  std::unique_ptr<LoopWatch> watch_;
};

}  // namespace

Napi::Function defineLoopWatch(Napi::Env env) { return LoopWatchObject::define(env); }

}  // namespace hearth
