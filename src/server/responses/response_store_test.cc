#include "server/responses/response_store.h"

#include <gtest/gtest.h>

#include <string>

namespace lattice::server {
namespace {

boost::json::array Messages(std::size_t n_bytes) {
  return {{{"role", "user"}, {"content", std::string(n_bytes, 'a')}}};
}

TEST(ResponseStoreTest, TheLeastRecentlyUsedIsForgotten) {
  ResponseStore store(/*max_count=*/2, /*max_bytes=*/10'000);
  store.Put("a", Messages(1));
  store.Put("b", Messages(2));
  ASSERT_NE(store.Get("a"), nullptr);
  store.Put("c", Messages(3));
  EXPECT_EQ(store.Get("b"), nullptr);
  EXPECT_EQ(*store.Get("a"), Messages(1));
  EXPECT_EQ(*store.Get("c"), Messages(3));
}

TEST(ResponseStoreTest, BytesAreBounded) {
  ResponseStore store(/*max_count=*/100, /*max_bytes=*/1000);
  store.Put("a", Messages(400));
  store.Put("b", Messages(400));
  store.Put("too large", Messages(2000));
  EXPECT_NE(store.Get("a"), nullptr);
  EXPECT_EQ(store.Get("too large"), nullptr);
  store.Put("c", Messages(400));
  EXPECT_EQ(store.Get("b"), nullptr);
  EXPECT_NE(store.Get("a"), nullptr);
  EXPECT_NE(store.Get("c"), nullptr);
}

}  // namespace
}  // namespace lattice::server
