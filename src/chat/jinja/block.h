#pragma once

#include <memory>
#include <utility>

#include "chat/jinja/interpreter.h"

namespace lattice::chat::jinja {

class Interpreter::Block {
 public:
  Block(Interpreter& interpreter, Scope& parent)
      : interpreter_(interpreter), scope_(std::make_unique<Scope>(&parent)) {}
  ~Block() {
    if (scope_->captured()) interpreter_.captured_scopes_.push_back(std::move(scope_));
  }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  Scope& scope() { return *scope_; }

 private:
  Interpreter& interpreter_;
  std::unique_ptr<Scope> scope_;
};

}  // namespace lattice::chat::jinja
