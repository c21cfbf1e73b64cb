#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "grammar/work_budget.h"

namespace lattice::grammar {

/// What a beginning of a host name says about how it may go on: a name of RFC 1123 of at most 253
/// characters, whose labels "xn--..." spell labels of other scripts (RFC 5890, lower case), and
/// which may mix writing directions as RFC 5893 says. There are finitely many names, yet far too
/// many for a table: the states are made as names ask for them, and from each one some name can be
/// completed.
class HostName {
 public:
  static constexpr std::size_t kMaxName = 253;

  /// The beginning with one byte more; absent if no name begins so.
  std::optional<HostName> Next(std::uint8_t byte, WorkBudget& work) const;
  bool is_complete() const { return shortest() == 0; }
  /// No end is nearer; 0 where the name is complete.
  std::size_t shortest() const;
  bool in_a_label() const { return prefix_ == Prefix::kALabel; }
  /// So many bytes may follow, each any of MayBeInALabel: there is a way on behind them. 0
  /// outside of labels "xn--".
  std::size_t n_free() const;
  static bool MayBeInALabel(std::uint8_t byte) {
    return (byte >= 'a' && byte <= 'z') || (byte >= '0' && byte <= '9') || byte == '-';
  }
  std::size_t n_left() const { return kMaxName - n_before_ - n_label_; }

  /// Goes on in the same ways for n_bytes bytes.
  HostName Clamp(std::uint32_t n_bytes) const;

  /// Equal for equal states only: two numbers, then the text of a label "xn--".
  struct Packed {
    std::array<std::uint32_t, 2> head;
    std::vector<std::uint32_t> text;
  };
  Packed Pack() const;
  static HostName Unpack(const Packed& packed);

 private:
  static constexpr std::size_t kMaxLabel = 63;
  enum class Prefix : std::uint8_t { kNone, kX, kXn, kXnHyphen, kALabel };

  std::size_t room() const;
  std::optional<HostName> AfterDot() const;
  std::optional<HostName> WithinALabel(char c, WorkBudget& work) const;
  std::string Completion(const std::string& text, WorkBudget& work) const;
  std::string Extended(const std::string& text, std::size_t& n_tries) const;
  bool Spells(const std::string& text) const;

  std::uint8_t n_before_ = 0;  // characters of the labels before, and of their dots
  std::uint8_t n_label_ = 0;   // of this one
  bool has_rtl_ = false;       // a label before is written right to left
  bool has_mixed_ = false;     // a label before may not stand beside such ones
  Prefix prefix_ = Prefix::kNone;
  bool digit_first_ = false;
  bool hyphen_last_ = false;
  std::string text_;  // behind "xn--"; where the label's end is near, all of one that can be
};

}  // namespace lattice::grammar
