#pragma once
#include <napi.h>

#include <memory>

#include "file_mapping.hpp"

namespace hearth {

/** Makes the class known to an environment, once, before newFilePages. */
void defineFilePages(Napi::Env env);
/** What JavaScript sees of a mapped file's pages: NativePages of engine/kernels/native/addon.ts. */
Napi::Value newFilePages(Napi::Env env, std::shared_ptr<const FileMapping> mapping);

}  // namespace hearth
