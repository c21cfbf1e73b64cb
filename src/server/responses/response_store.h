#pragma once

#include <boost/json/array.hpp>
#include <cstddef>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace lattice::server {

/// Responses by their ids, each with the conversation that it ended, so that the next request can
/// go on from there. Bounded: the least recently used are forgotten first. Thread-safe.
class ResponseStore {
 public:
  struct Kept {
    boost::json::array messages;  ///< In the shape of chat/completions.
    std::string json;             ///< The response as it was given.
  };
  using KeptPtr = std::shared_ptr<const Kept>;

  ResponseStore(std::size_t max_count, std::size_t max_bytes)
      : max_count_(max_count), max_bytes_(max_bytes) {}

  /// What is larger than the whole store is not kept.
  void Put(const std::string& id, Kept kept);
  /// Null when it is not known, or no longer.
  KeptPtr Get(const std::string& id);
  /// False when it is not known, or no longer.
  bool Delete(const std::string& id);

 private:
  struct Entry {
    std::string id;
    KeptPtr kept;
    std::size_t n_bytes = 0;
  };
  const std::size_t max_count_, max_bytes_;
  std::mutex mutex_;          // guards what follows
  std::list<Entry> entries_;  // most recently used first
  std::map<std::string, std::list<Entry>::iterator> places_;
  std::size_t n_bytes_ = 0;
};

}  // namespace lattice::server
