#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "lattice/result.h"

namespace lattice::apps {

/// A row of a table: a word that a flag takes, and what it stands for.
template <typename Value>
struct Named {
  std::string_view name;
  Value value;
};

/// The words, for --help and for CLI::IsMember.
template <typename Value, std::size_t kCount>
std::vector<std::string> NamesOf(const Named<Value> (&table)[kCount]) {
  std::vector<std::string> names;
  for (const Named<Value>& row : table) names.emplace_back(row.name);
  return names;
}

/// kInvalidArgument says what was looked for, and the known words.
template <typename Value, std::size_t kCount>
Result<Value> FindNamed(const Named<Value> (&table)[kCount], std::string_view what,
                        std::string_view text) {
  std::string known;
  for (const Named<Value>& row : table) {
    if (row.name == text) return row.value;
    known += (known.empty() ? "" : ", ") + std::string(row.name);
  }
  return Error{ErrorCode::kInvalidArgument,
               "unknown " + std::string(what) + " '" + std::string(text) + "'; known: " + known};
}

}  // namespace lattice::apps
