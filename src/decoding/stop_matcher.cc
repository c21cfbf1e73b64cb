#include "decoding/stop_matcher.h"

#include "base/utf8.h"

namespace lattice::decoding {

Result<StopMatcher> StopMatcher::Create(const std::vector<std::string>& stops) {
  const auto invalid = [](std::string message) {
    return Error{ErrorCode::kInvalidArgument, "stop: " + std::move(message)};
  };
  if (stops.size() > kMaxStops) {
    return invalid(std::to_string(stops.size()) + " strings; the most is " +
                   std::to_string(kMaxStops));
  }
  StopMatcher matcher;
  for (std::size_t i = 0; i < stops.size(); ++i) {
    if (stops[i].empty() || stops[i].size() > kMaxStopBytes) {
      return invalid("string " + std::to_string(i) + " has " + std::to_string(stops[i].size()) +
                     " bytes; 1 to " + std::to_string(kMaxStopBytes) + " are allowed");
    }
    if (!IsValidUtf8(stops[i])) return invalid("string " + std::to_string(i) + " is not UTF-8");
    matcher.Add(stops[i], static_cast<std::uint32_t>(i));
  }
  matcher.Link();
  return matcher;
}

std::uint32_t StopMatcher::Child(std::uint32_t node, char byte) const {
  std::uint32_t child = nodes_[node].first_child;
  while (child != kNone && nodes_[child].byte != byte) child = nodes_[child].sibling;
  return child;
}

void StopMatcher::Add(std::string_view stop, std::uint32_t index) {
  std::uint32_t node = 0;
  for (const char byte : stop) {
    std::uint32_t child = Child(node, byte);
    if (child == kNone) {
      child = static_cast<std::uint32_t>(nodes_.size());
      nodes_.push_back(
          {.sibling = nodes_[node].first_child, .depth = nodes_[node].depth + 1, .byte = byte});
      nodes_[node].first_child = child;
    }
    node = child;
  }
  if (nodes_[node].stop == kNone) nodes_[node].stop = index;
  stop_bytes_.push_back(static_cast<std::uint32_t>(stop.size()));
}

// Breadth first, so that shorter nodes are linked before longer ones.
void StopMatcher::Link() {
  std::vector<std::uint32_t> queue = {0};
  for (std::size_t i = 0; i < queue.size(); ++i) {
    const std::uint32_t node = queue[i];
    for (std::uint32_t child = nodes_[node].first_child; child != kNone;
         child = nodes_[child].sibling) {
      Node& linked = nodes_[child];
      linked.shorter = node == 0 ? 0 : Next(nodes_[node].shorter, linked.byte);
      if (linked.stop == kNone) linked.stop = nodes_[linked.shorter].stop;
      queue.push_back(child);
    }
  }
}

std::uint32_t StopMatcher::Next(std::uint32_t node, char byte) const {
  for (;; node = nodes_[node].shorter) {
    if (const std::uint32_t child = Child(node, byte); child != kNone) return child;
    if (node == 0) return 0;
  }
}

bool StopMatcher::Push(std::string_view piece, std::string& shown) {
  if (matched_) return true;
  for (const char byte : piece) {
    node_ = Next(node_, byte);
    held_ += byte;
    if (const std::uint32_t stop = nodes_[node_].stop; stop != kNone) {
      shown.append(held_, 0, held_.size() - stop_bytes_[stop]);
      held_.clear();
      matched_ = stop;
      return true;
    }
  }
  const std::size_t n_certain = held_.size() - nodes_[node_].depth;
  shown.append(held_, 0, n_certain);
  held_.erase(0, n_certain);
  return false;
}

void StopMatcher::Finish(std::string& shown) {
  shown += held_;
  held_.clear();
  node_ = 0;
}

void StopMatcher::Reset() {
  held_.clear();
  node_ = 0;
  matched_.reset();
}

}  // namespace lattice::decoding
