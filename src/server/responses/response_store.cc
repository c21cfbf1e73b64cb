#include "server/responses/response_store.h"

#include <boost/json/serialize.hpp>
#include <utility>

namespace lattice::server {

void ResponseStore::Put(const std::string& id, Kept kept) {
  const std::size_t n_bytes =
      boost::json::serialize(kept.messages).size() + kept.json.size() + id.size();
  if (n_bytes > max_bytes_) return;
  auto shared = std::make_shared<const Kept>(std::move(kept));
  const std::scoped_lock lock(mutex_);
  if (places_.contains(id)) return;
  entries_.push_front({id, std::move(shared), n_bytes});
  places_[id] = entries_.begin();
  n_bytes_ += n_bytes;
  while (entries_.size() > max_count_ || n_bytes_ > max_bytes_) {
    n_bytes_ -= entries_.back().n_bytes;
    places_.erase(entries_.back().id);
    entries_.pop_back();
  }
}

ResponseStore::KeptPtr ResponseStore::Get(const std::string& id) {
  const std::scoped_lock lock(mutex_);
  const auto found = places_.find(id);
  if (found == places_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, found->second);
  return found->second->kept;
}

bool ResponseStore::Delete(const std::string& id) {
  const std::scoped_lock lock(mutex_);
  const auto found = places_.find(id);
  if (found == places_.end()) return false;
  n_bytes_ -= found->second->n_bytes;
  entries_.erase(found->second);
  places_.erase(found);
  return true;
}

}  // namespace lattice::server
