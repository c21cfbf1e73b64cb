#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chat/jinja/limits.h"
#include "chat/jinja/runtime.h"
#include "chat/jinja/text.h"
#include "chat/jinja/value.h"
#include "lattice/result.h"

namespace lattice::chat::jinja {

struct Program;

/// Variables of one run, by name; of equal names the last counts.
struct Variables {
  std::vector<std::pair<std::string, Value>> values;
  std::size_t n_bytes = 0;  ///< About how much memory they hold: widens Limits::max_built_bytes.
};

/// A parsed template in the language of Jinja2 with the settings of Hugging Face transformers:
/// trim_blocks, lstrip_blocks, loop controls, `generation` blocks, no HTML escaping, values that
/// cannot be changed. Immutable: any number of threads may run one at a time.
///
/// Source  Jinja2 3.1 ("Template Designer Documentation"), transformers 5 (chat templates).
class Template {
 public:
  /// kCorruptData, kUnsupported or kResourceExhausted with "line N: ...".
  static Result<Template> Parse(std::string_view source, const Limits& limits = {});

  /// The text that the template makes of `variables`, with the origin of its bytes.
  ///
  /// Errors  kInvalidArgument: the words of raise_exception as they are, or "line N: ..." for
  ///         whatever else the data and the template do not agree about; kResourceExhausted: a
  ///         limit.
  ///         `where`, if not empty, stands before everything but the words of raise_exception.
  Result<Text> Run(const Variables& variables, const CivilTime& now,
                   std::string_view where = "") const;

 private:
  Template(std::shared_ptr<const Program> program, const Limits& limits)
      : program_(std::move(program)), limits_(limits) {}

  std::shared_ptr<const Program> program_;
  Limits limits_;
};

}  // namespace lattice::chat::jinja
