#pragma once
#include <napi.h>

#include <memory>

#include "file_mapping.hpp"
#include "page_worker.hpp"

namespace hearth {

/** Registers the class with an environment; must be called once, before newFilePages. */
void defineFilePages(Napi::Env env);
/** The JavaScript object of a mapped file's pages: NativePages of engine/kernels/native/addon.ts. */
Napi::Value newFilePages(Napi::Env env, std::shared_ptr<const FileMapping> mapping, PageWorkerOptions options);

}  // namespace hearth
