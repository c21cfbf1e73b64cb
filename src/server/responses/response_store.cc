#include "server/responses/response_store.h"

#include <boost/json/serialize.hpp>
#include <utility>

namespace lattice::server {

void ResponseStore::Put(const std::string& id, boost::json::array messages) {
  const std::size_t n_bytes = boost::json::serialize(messages).size() + id.size();
  if (n_bytes > max_bytes_) return;
  auto kept = std::make_shared<const boost::json::array>(std::move(messages));
  const std::scoped_lock lock(mutex_);
  if (places_.contains(id)) return;
  entries_.push_front({id, std::move(kept), n_bytes});
  places_[id] = entries_.begin();
  n_bytes_ += n_bytes;
  while (entries_.size() > max_count_ || n_bytes_ > max_bytes_) {
    n_bytes_ -= entries_.back().n_bytes;
    places_.erase(entries_.back().id);
    entries_.pop_back();
  }
}

ResponseStore::Messages ResponseStore::Get(const std::string& id) {
  const std::scoped_lock lock(mutex_);
  const auto found = places_.find(id);
  if (found == places_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, found->second);
  return found->second->messages;
}

}  // namespace lattice::server
