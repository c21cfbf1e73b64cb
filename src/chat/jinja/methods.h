#pragma once

#include <string_view>

#include "chat/jinja/runtime.h"
#include "chat/jinja/value.h"

namespace lattice::chat::jinja {

enum class MethodKind {
  kNone,
  kKnown,
  kMutating,  ///< list.append and kin: the reference's sandbox refuses them too.
};

/// Whether values of this type have a method of that name.
MethodKind FindMethod(const Value& value, std::string_view name);

/// Calls a method that is kKnown.
Result<Value> CallMethod(Runtime& runtime, const Value& self, std::string_view name,
                         const Arguments& arguments);

}  // namespace lattice::chat::jinja
