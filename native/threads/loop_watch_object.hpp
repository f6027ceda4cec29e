#pragma once
#include <napi.h>

namespace hearth {

/** The class LoopWatch, which cuts all TCP connections of the process while the loop of events hangs. */
Napi::Function defineLoopWatch(Napi::Env env);

}  // namespace hearth
