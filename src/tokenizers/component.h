#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "base/json.h"
#include "lattice/result.h"

namespace lattice::tokenizers {

/// The "type" of a component of a tokenizer.json ("NFC", "ByteLevel"), checked against the types
/// that exist. kUnsupported names an unknown type and the known ones.
///
/// what  "normalizer", "decoder": for the message.
inline Result<std::string_view> ComponentType(const JsonView& component, std::string_view what,
                                              std::initializer_list<std::string_view> known) {
  LATTICE_TRY(const JsonView type, component.Get("type"));
  LATTICE_TRY(const std::string_view name, type.String());
  std::string list;
  for (const std::string_view one : known) {
    if (one == name) return one;
    list += list.empty() ? "" : ", ";
    list += one;
  }
  return Error{ErrorCode::kUnsupported, component.where() + ": unknown " + std::string(what) +
                                            " '" + std::string(name) + "'; known are " + list};
}

}  // namespace lattice::tokenizers
