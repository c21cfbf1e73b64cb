#pragma once

#include <memory>
#include <optional>
#include <string>

#include "lattice/result.h"

namespace lattice::apps {

/// Reads lines that a person types, with editing and a history that is kept from run to run; or, if
/// standard input is no terminal, lines as they come.
class LineEditor {
 public:
  /// history_file  empty: the history ends with the program.
  explicit LineEditor(const std::string& history_file);
  ~LineEditor();

  bool is_terminal() const;

  /// The next line without its end; a line that ends with a backslash goes on in the next one.
  /// Absent at the end of the input. Ctrl-C gives an empty line.
  Result<std::optional<std::string>> Read(const std::string& prompt);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace lattice::apps
