#pragma once

#include <boost/json/array.hpp>
#include <cstddef>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace lattice::server {

/// Conversations by the id of the response that ended them, so that the next request can go on from
/// there. Bounded: the least recently used are forgotten first. Thread-safe.
class ResponseStore {
 public:
  /// Messages in the shape of chat/completions.
  using Messages = std::shared_ptr<const boost::json::array>;

  ResponseStore(std::size_t max_count, std::size_t max_bytes)
      : max_count_(max_count), max_bytes_(max_bytes) {}

  /// What is larger than the whole store is not kept.
  void Put(const std::string& id, boost::json::array messages);
  /// Null when it is not known, or no longer.
  Messages Get(const std::string& id);

 private:
  struct Entry {
    std::string id;
    Messages messages;
    std::size_t n_bytes = 0;
  };
  const std::size_t max_count_, max_bytes_;
  std::mutex mutex_;          // guards what follows
  std::list<Entry> entries_;  // most recently used first
  std::map<std::string, std::list<Entry>::iterator> places_;
  std::size_t n_bytes_ = 0;
};

}  // namespace lattice::server
